/**
 * How near the host's limits are, and who may still begin something.
 *
 * <p>{@link dev.ebb.pressure.Gauges} reads, {@link dev.ebb.pressure.Thresholds} judges, {@link
 * dev.ebb.pressure.Admission} lets in. Reading needs no descriptor that is not held back for it, so
 * it works when there are no more. May use process, cgroup and kernel; knows nothing of boxes.
 */
@NullMarked
package dev.ebb.pressure;

import org.jspecify.annotations.NullMarked;
