/**
 * The daemon's REST interface, typed: {@link EbbClient} is read first.
 *
 * <p>Calls block. What the daemon refuses is an {@link EbbException}, what goes wrong on the way
 * another {@link java.io.IOException}. A field the daemon left out is null.
 */
@NullMarked
package dev.ebb.client;

import org.jspecify.annotations.NullMarked;
