/**
 * How a box is made with bubblewrap, and how its pid 1 is spoken to.
 *
 * <p>Visible pairs: {@link dev.ebb.backend.bubblewrap.BwrapCommandLine} with bwrap's flags, {@link
 * dev.ebb.backend.bubblewrap.Protocol} with init/protocol.h. May use backend and the layers below.
 */
@NullMarked
package dev.ebb.backend.bubblewrap;

import org.jspecify.annotations.NullMarked;
