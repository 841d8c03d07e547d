/**
 * The backend that makes each box with its own bwrap process.
 *
 * <p>{@link dev.ebb.backend.bubblewrap.BwrapCommandLine} mirrors the flags of bwrap. May use
 * backend and the layers below.
 */
@NullMarked
package dev.ebb.backend.bubblewrap;

import org.jspecify.annotations.NullMarked;
