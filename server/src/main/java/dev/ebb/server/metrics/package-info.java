/** The counters and gauges of the daemon, for Prometheus. Does not use boxes: they report to it. */
@NullMarked
package dev.ebb.server.metrics;

import org.jspecify.annotations.NullMarked;
