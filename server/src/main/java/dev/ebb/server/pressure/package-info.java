/** Metrics of the pressure watch, and the watchdog of the daemon. */
@NullMarked
package dev.ebb.server.pressure;

import org.jspecify.annotations.NullMarked;
