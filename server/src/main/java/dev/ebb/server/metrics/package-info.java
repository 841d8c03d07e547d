/** What the daemon counts and measures, for Prometheus. Knows nothing of boxes: they tell. */
@NullMarked
package dev.ebb.server.metrics;

import org.jspecify.annotations.NullMarked;
