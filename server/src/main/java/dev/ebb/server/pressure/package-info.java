/** How near the daemon is to its limits, what it does about that, and who may begin something. */
@NullMarked
package dev.ebb.server.pressure;

import org.jspecify.annotations.NullMarked;
