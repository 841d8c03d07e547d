/**
 * Commands for the operator of a host: examine, sweep, explain, purge, and try a daemon under load.
 * May use {@code option}, {@code output} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.operate;

import org.jspecify.annotations.NullMarked;
