/**
 * Commands that show what a daemon does now: processes, use of resources, events, pressure, pools.
 * May use {@code output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.watch;

import org.jspecify.annotations.NullMarked;
