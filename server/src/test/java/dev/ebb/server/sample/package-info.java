/** A door of its own, to show what one can be. */
@NullMarked
package dev.ebb.server.sample;

import org.jspecify.annotations.NullMarked;
