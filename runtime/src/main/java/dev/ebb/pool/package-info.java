/**
 * Boxes that were made in advance, some with an interpreter that waits for its program.
 *
 * <p>May use exec and the layers below. A box is handed out once, to one tenant, after a check that
 * it is unchanged. From then on only that tenant uses it, and it ends like any other.
 */
@NullMarked
package dev.ebb.pool;

import org.jspecify.annotations.NullMarked;
