/**
 * Commands for the operator of a host: examine, sweep, explain, purge, and try a daemon under load.
 * May use {@code output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.operate;

import org.jspecify.annotations.NullMarked;
