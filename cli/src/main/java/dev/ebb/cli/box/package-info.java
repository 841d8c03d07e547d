/**
 * Commands about boxes: create, list, inspect, stop and remove them. May use {@code option}, {@code
 * output} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.box;

import org.jspecify.annotations.NullMarked;
