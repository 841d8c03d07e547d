/**
 * A box: its specification, its states, its making and its proven end.
 *
 * <p>Read {@link dev.ebb.box.Box} first. {@link dev.ebb.box.Making} makes a box, {@link
 * dev.ebb.box.Adoption} adopts one, and {@link dev.ebb.box.Release} releases everything it holds,
 * even if it is only partially made. The state changes only in {@link dev.ebb.box.BoxLifecycle}.
 * From this layer up failures are {@link dev.ebb.model.SandboxException}. May use the layers below.
 */
@NullMarked
package dev.ebb.box;

import org.jspecify.annotations.NullMarked;
