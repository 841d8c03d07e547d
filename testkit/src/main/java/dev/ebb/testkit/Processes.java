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
                !below && processes.isNeighbours(process)));
      }
    }
    return traces;
  }
}
