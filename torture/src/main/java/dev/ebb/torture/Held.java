package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.Holding;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The resources that a box held on the host when it was inspected, for a second inspection when it
 * is gone.
 *
 * @param processes the processes of its commands, and its init
 * @param cgroups its cgroups in every hierarchy
 */
record Held(String box, Set<Target> processes, Set<Path> cgroups, Set<Path> directories) {
  static Held nothingOf(String box) {
    return new Held(box, Set.of(), Set.of(), Set.of());
  }

  static Held of(Box box) throws IOException {
    var pids = new HashSet<Integer>();
    var cgroups = new HashSet<Path>();
    var directories = new HashSet<Path>();
    for (Holding holding : box.holdings()) {
      Long pid = holding.pid();
      switch (holding.kind()) {
        case "process" -> pids.add(pid == null ? 0 : pid.intValue());
        case "cgroup" -> cgroups.add(Path.of(holding.subject()));
        case "directory" -> directories.add(Path.of(holding.subject()));
        default -> {}
      }
    }
    return new Held(box.id(), processes(pids), cgroups, directories);
  }

  private static Set<Target> processes(Set<Integer> pids) throws IOException {
    var processes = new HashSet<Target>();
    for (ProcessEntry process : ProcessTable.read().entries()) {
      if (pids.contains(process.pid())) {
        processes.add(Target.of(process));
      }
    }
    return processes;
  }

  /** How many processes it had beside its init. */
  int size() {
    return Math.max(0, processes.size() - 1);
  }

  /** The processes that are left, zombies included. */
  List<Trace> leftProcesses() throws IOException {
    var left = new ArrayList<Trace>();
    for (ProcessEntry process : ProcessTable.read().entries()) {
      boolean isMember = process.cgroup().contains(box);
      if (isMember || processes.contains(Target.of(process))) {
        Invariant broken = isMember ? Invariant.I1 : Invariant.I3;
        left.add(
            new Trace(
                process.isZombie() ? Invariant.I2 : broken,
                process.isZombie() ? "zombie" : "process",
                box + " " + process.pid(),
                "of box " + box + ", " + process.describe()));
      }
    }
    return left;
  }

  List<Trace> leftCgroups() {
    return left(Invariant.I4, "cgroup", cgroups);
  }

  List<Trace> leftDirectories() {
    return left(Invariant.I6, "directory", directories);
  }

  private static List<Trace> left(Invariant invariant, String kind, Set<Path> paths) {
    return paths.stream()
        .filter(path -> Files.exists(path, LinkOption.NOFOLLOW_LINKS))
        .map(path -> new Trace(invariant, kind, path.toString(), path.toString()))
        .toList();
  }

  /** Returns the entries that the ledgers of a home still list for it. */
  List<Trace> leftLines(Path home) throws IOException {
    var left = new ArrayList<Trace>();
    for (Path instance : Proc.list(home.resolve("instances"))) {
      Path ledger = instance.resolve("ledger");
      for (String line : Ledgers.held(ledger)) {
        if (Ledgers.box(line).equals(box)) {
          left.add(new Trace(Invariant.I8, "ledger line", line, ledger + ": " + line));
        }
      }
    }
    return left;
  }
}
