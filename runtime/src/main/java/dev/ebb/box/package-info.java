/**
 * A box: its specification, its states, its making and its proven end.
 *
 * <p>State changes only in {@link dev.ebb.box.BoxLifecycle}. Whatever a half-made box holds, {@code
 * release} gives it back: there is one way out. From here up failures are {@link
 * dev.ebb.box.SandboxException}. May use the layers below.
 */
@NullMarked
package dev.ebb.box;

import org.jspecify.annotations.NullMarked;
