/**
 * The connection to the daemon: finds it, starts it, and describes its failures and the ends of its
 * commands. May use {@code output} and {@code caller}.
 */
@NullMarked
package dev.ebb.cli.daemon;

import org.jspecify.annotations.NullMarked;
