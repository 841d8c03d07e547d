/**
 * How near the limits of the host are, and what may begin.
 *
 * <p>{@link dev.ebb.admission.Gauges} reads, {@link dev.ebb.admission.Thresholds} judges, {@link
 * dev.ebb.admission.Admission} admits or refuses, {@link dev.ebb.admission.PressureWatch} reads
 * again and cleans up. Reading needs no descriptor that is not held back for it, so it works when
 * there are no more. May use process, cgroup, model and kernel; knows nothing of boxes.
 */
@NullMarked
package dev.ebb.admission;

import org.jspecify.annotations.NullMarked;
