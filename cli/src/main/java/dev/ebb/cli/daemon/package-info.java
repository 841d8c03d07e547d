/**
 * The way to the daemon: finds it, starts it, and puts its failures and the ends of its commands
 * into words. May use {@code output}.
 */
@NullMarked
package dev.ebb.cli.daemon;

import org.jspecify.annotations.NullMarked;
