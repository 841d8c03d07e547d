/** Who calls, and what they may. */
@NullMarked
package dev.ebb.server.access;

import org.jspecify.annotations.NullMarked;
