/**
 * The process that called a command: its directory, environment, streams, terminal and signals. May
 * use {@code output}.
 */
@NullMarked
package dev.ebb.cli.caller;

import org.jspecify.annotations.NullMarked;
