/**
 * Commands about commands: run, exec, logs, wait and kill, with our own streams, signals and
 * terminal. May use {@code output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.exec;

import org.jspecify.annotations.NullMarked;
