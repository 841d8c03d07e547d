package dev.ebb.torture;

import java.time.Duration;
import java.util.List;

/**
 * One box from its making to its end.
 *
 * @param detached whether it outlives its daemon
 * @param pids the most processes it may have
 * @param keeps whether processes that its commands leave are kept until the box ends
 * @param dwell how long it works undisturbed
 */
record Round(
    int worker,
    int number,
    boolean detached,
    int pids,
    boolean keeps,
    List<Workload> workloads,
    List<Act> acts,
    Duration dwell,
    Ending ending) {
  Round {
    workloads = List.copyOf(workloads);
    acts = List.copyOf(acts);
  }

  /** The name of its box. */
  String name() {
    return "t%d-%d".formatted(worker, number);
  }
}
