/**
 * Commands about boxes: create, list, inspect, stop and remove them. May use {@code output}, {@code
 * caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.box;

import org.jspecify.annotations.NullMarked;
