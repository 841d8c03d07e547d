/**
 * The arguments of a command line: options that several commands share, and the requests made from
 * them. Uses no other package of the command.
 */
@NullMarked
package dev.ebb.cli.option;

import org.jspecify.annotations.NullMarked;
