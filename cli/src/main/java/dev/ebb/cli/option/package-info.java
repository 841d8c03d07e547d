/**
 * The words of a command line: options that several commands share, and the requests they become.
 * Uses no other package of the command.
 */
@NullMarked
package dev.ebb.cli.option;

import org.jspecify.annotations.NullMarked;
