/**
 * A box: its specification, its states, its making and its proven end.
 *
 * <p>{@link dev.ebb.box.Box} is read first. {@link dev.ebb.box.Making} makes one, {@link
 * dev.ebb.box.Adoption} finds one again, and whatever it holds, even half-made, {@link
 * dev.ebb.box.Release} gives back: there is one way out. State changes only in {@link
 * dev.ebb.box.BoxLifecycle}. From here up failures are {@link dev.ebb.model.SandboxException}. May
 * use the layers below.
 */
@NullMarked
package dev.ebb.box;

import org.jspecify.annotations.NullMarked;
