/**
 * The daemon's REST interface, typed; start with {@link EbbClient}.
 *
 * <p>Calls block. A refusal of the daemon is an {@link EbbException}, a failure on the way another
 * {@link java.io.IOException}. A field that the daemon left out is null.
 */
@NullMarked
package dev.ebb.client;

import org.jspecify.annotations.NullMarked;
