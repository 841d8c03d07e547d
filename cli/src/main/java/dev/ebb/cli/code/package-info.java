/**
 * Commands about code: run it in a box of its own or in a context, and list the languages. May use
 * {@code output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.code;

import org.jspecify.annotations.NullMarked;
