/**
 * The only door for anything outside: open an engine, make boxes, run commands, close.
 *
 * <p>May use every layer below; nothing below uses it.
 */
@NullMarked
package dev.ebb.engine;

import org.jspecify.annotations.NullMarked;
