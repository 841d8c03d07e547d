package dev.ebb.torture;

import java.time.Duration;
import java.util.List;

/**
 * One box from its making to its end.
 *
 * @param detached it outlives its daemon
 * @param pids how many processes it may have
 * @param keeps what its commands leave is kept until the box ends
 * @param dwell how long it works in peace
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
