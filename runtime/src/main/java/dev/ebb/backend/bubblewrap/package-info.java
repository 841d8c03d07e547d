/**
 * Boxes by bubblewrap, each by a bwrap process of its own.
 *
 * <p>Visible pair: {@link dev.ebb.backend.bubblewrap.BwrapCommandLine} with bwrap's flags. May use
 * backend and the layers below.
 */
@NullMarked
package dev.ebb.backend.bubblewrap;

import org.jspecify.annotations.NullMarked;
