/**
 * A command tree in a box: its start, its streams, its kill ladder, its one truth about the end.
 *
 * <p>May use box and the layers below.
 */
@NullMarked
package dev.ebb.exec;

import org.jspecify.annotations.NullMarked;
