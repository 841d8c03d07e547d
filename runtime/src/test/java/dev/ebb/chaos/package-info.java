/** Kills whatever there is to kill, at random moments, and looks at what is left. */
@NullMarked
package dev.ebb.chaos;

import org.jspecify.annotations.NullMarked;
