/**
 * The arguments of a command line: options that several commands share, and the requests made from
 * them. May use {@code output} and {@code caller}.
 */
@NullMarked
package dev.ebb.cli.option;

import org.jspecify.annotations.NullMarked;
