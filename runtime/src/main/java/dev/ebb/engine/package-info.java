/**
 * The entry point for programs: open an engine, make boxes, run commands, close.
 *
 * <p>May use every layer below; no layer below uses it.
 */
@NullMarked
package dev.ebb.engine;

import org.jspecify.annotations.NullMarked;
