package dev.ebb.testkit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Processes and zombies: all below this JVM, adopted ones too, and all that carry Ebb's identity.
 */
final class Processes {
  private Processes() {}

  static List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (ProcessEntry process : processes.entries()) {
      boolean below = processes.isBelowUs(process);
      if (below || process.isEbbs()) {
        String kind = process.isZombie() ? "zombie" : "process";
        traces.add(
            new Trace(
                kind,
                kind + " " + process.pid() + "@" + process.startTime(),
                process.describe(),
                !below && isNeighbours(process, processes)));
      }
    }
    return traces;
  }

  /** RACE: a parent may end while the table is read; then the name of the cgroup tells. */
  private static boolean isNeighbours(ProcessEntry process, ProcessTable processes) {
    return processes.isNeighbours(process) || processes.isNeighboursPath(process.cgroup());
  }
}
