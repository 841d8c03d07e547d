/**
 * A command tree in a box: its start, its streams, its kill ladder, and its single result.
 *
 * <p>May use box and the layers below.
 */
@NullMarked
package dev.ebb.exec;

import org.jspecify.annotations.NullMarked;
