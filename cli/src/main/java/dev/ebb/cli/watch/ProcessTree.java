package dev.ebb.cli.watch;

import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Box;
import dev.ebb.client.Holding;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The living processes of a box, each below its parent. */
final class ProcessTree {
  private static final String INDENT = "  ";

  private final List<Holding> processes;

  private ProcessTree(List<Holding> processes) {
    this.processes = processes;
  }

  static ProcessTree of(Box box) {
    return new ProcessTree(
        box.holdings().stream()
            .filter(holding -> holding.kind().equals("process") && holding.pid() != null)
            .sorted(Comparator.comparingLong(ProcessTree::pid))
            .toList());
  }

  List<Holding> processes() {
    return processes;
  }

  private static long pid(Holding process) {
    Long pid = process.pid();
    return pid == null ? 0 : pid;
  }

  private static long parent(Holding process) {
    Long parent = process.parent();
    return parent == null ? 0 : parent;
  }

  Table table() {
    var table = new Table("PID", "PARENT", "EXEC", "STATE", "COMMAND");
    var inside = new HashSet<Long>();
    processes.forEach(process -> inside.add(pid(process)));
    for (Holding process : processes) {
      if (!inside.contains(parent(process))) {
        add(table, process, 0, new HashSet<>());
      }
    }
    return table;
  }

  /** RACE: a number may have moved while they were listed, so a parent can seem to be a child. */
  private void add(Table table, Holding process, int depth, Set<Long> seen) {
    if (!seen.add(pid(process))) {
      return;
    }
    table.row(
        pid(process),
        parent(process),
        Shown.orNothing(process.exec()),
        Shown.orNothing(process.state()),
        INDENT.repeat(depth) + Shown.line(Shown.orNothing(process.detail())));
    for (Holding child : processes) {
      if (parent(child) == pid(process)) {
        add(table, child, depth + 1, seen);
      }
    }
  }
}
