package dev.ebb.oracle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Processes and zombies: all below this one, adopted ones too, and all that carry Ebb's identity.
 */
public final class Processes implements Detector {
  private final Neighbours neighbours;

  public Processes(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (ProcessEntry process : processes.entries()) {
      boolean below = processes.isBelowUs(process);
      if (below || process.isEbbs()) {
        traces.add(
            new Trace(
                invariant(process),
                process.isZombie() ? "zombie" : "process",
                identity(process),
                process.describe(),
                !below && neighbours.own(process, processes)));
      }
    }
    return traces;
  }

  /**
   * Returns another identity for a zombie: to know the living process does not excuse its zombie.
   */
  static String identity(ProcessEntry process) {
    return (process.isZombie() ? "zombie " : "process ")
        + process.pid()
        + "@"
        + process.startTime();
  }

  private static Invariant invariant(ProcessEntry process) {
    if (process.isZombie()) {
      return Invariant.I2;
    }
    return process.isInCgroupOfEbb() ? Invariant.I1 : Invariant.I3;
  }
}
