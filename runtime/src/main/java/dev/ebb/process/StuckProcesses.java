package dev.ebb.process;

import dev.ebb.model.StuckProcess;

/** Finds out where a process sleeps that does not end. */
public final class StuckProcesses {
  private StuckProcesses() {}

  /** Returns what this process waits for. */
  public static StuckProcess describe(int pid) {
    return new StuckProcess(
        pid,
        ProcFs.stat(pid).map(ProcFs.Stat::state).orElse('?'),
        ProcFs.waitChannel(pid),
        ProcFs.fileOfSystemCall(pid).orElse(""));
  }

  /** The process that keeps a tree from ending: pid 1 of a namespace waits for all of it. */
  public static StuckProcess findIn(int root) {
    return ProcFs.tree(root).values().stream()
        .filter(stat -> stat.state() == 'D')
        .findFirst()
        .map(stat -> describe(stat.pid()))
        .orElseGet(() -> describe(root));
  }
}
