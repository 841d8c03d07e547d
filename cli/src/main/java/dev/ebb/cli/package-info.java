/** The commands; they reach the engine only by its door. */
@NullMarked
package dev.ebb.cli;

import org.jspecify.annotations.NullMarked;
