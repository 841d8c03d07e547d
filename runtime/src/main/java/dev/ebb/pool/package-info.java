/**
 * Boxes that were made ahead, some with an interpreter that waits for its program.
 *
 * <p>May use exec and the layers below. A box is handed out once, to one tenant, after it was shown
 * to be as it was made; then it is nobody's but theirs, and ends as any other.
 */
@NullMarked
package dev.ebb.pool;

import org.jspecify.annotations.NullMarked;
