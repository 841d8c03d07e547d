package dev.ebb.supervision;

import dev.ebb.cgroup.Cgroup;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Holding;
import dev.ebb.model.StuckProcess;
import dev.ebb.process.MountTable;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.StuckProcesses;
import dev.ebb.store.Home;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;

/** Explains why a box, or a process of one, still exists. Changes nothing. */
public final class Why {
  private final Home home;

  public Why(Home home) {
    this.home = home;
  }

  /**
   * The facts about a box.
   *
   * @param runtime the pid of the runtime it belongs to
   * @param runtimeLives false: only a sweep will release it
   * @param holdings the entries of the ledger for it
   * @param processes its living processes, with what they wait for
   * @param mounts mounts in its directory; Ebb itself never mounts there
   */
  public record Answer(
      String box,
      String instance,
      int runtime,
      boolean runtimeLives,
      List<Holding> holdings,
      List<StuckProcess> processes,
      List<Path> mounts) {

    public Answer {
      mounts = List.copyOf(mounts);
      holdings = List.copyOf(holdings);
      processes = List.copyOf(processes);
    }

    /** Explains it in one sentence. */
    public String reason() {
      var waiting = processes.stream().filter(process -> process.state() == 'D').findFirst();
      if (waiting.isPresent()) {
        return "process "
            + waiting.get().pid()
            + " sleeps in the kernel and no signal ends it ("
            + waiting.get().describe()
            + "); it goes when that does, and the next sweep releases the rest";
      }
      if (!mounts.isEmpty() && processes.isEmpty()) {
        return "something is mounted in its directory, not by Ebb: "
            + mounts
            + "; unmount it, and the next try removes the directory";
      }
      if (runtimeLives) {
        return "its runtime, pid " + runtime + ", lives and has not released it";
      }
      return processes.isEmpty()
          ? "its runtime is dead; ebb sweep, or the next run, releases what is listed"
          : "its runtime is dead and its processes are about to be; ebb sweep makes sure";
    }
  }

  /** Explains a box by its id, or by the host pid of a process in it; empty if it is unknown. */
  public Optional<Answer> explain(String subject) throws KernelException, IOException {
    for (Home.View view : home.view()) {
      var boxes = new LinkedHashSet<String>();
      view.holdings().forEach(holding -> boxes.add(holding.box()));
      boxes.remove("");
      for (String box : boxes) {
        Answer answer = answer(view, box);
        if (box.equals(subject) || isOf(answer, subject)) {
          return Optional.of(answer);
        }
      }
    }
    return Optional.empty();
  }

  private static boolean isOf(Answer answer, String subject) {
    return answer.processes().stream()
        .anyMatch(process -> Integer.toString(process.pid()).equals(subject));
  }

  private static Answer answer(Home.View view, String box) throws KernelException {
    List<Holding> holdings =
        view.holdings().stream().filter(holding -> holding.box().equals(box)).toList();
    var pids = new LinkedHashSet<Integer>();
    var mounts = new ArrayList<Path>();
    for (Holding holding : holdings) {
      switch (holding.kind()) {
        case PROCESS -> {
          var process = ProcessRef.parse(holding.subject());
          if (process.isAlive()) {
            pids.addAll(ProcFs.tree(process.pid()).keySet());
          }
        }
        case CGROUP -> pids.addAll(new Cgroup(Path.of(holding.subject())).allProcs());
        case DIRECTORY -> mounts.addAll(MountTable.below(Path.of(holding.subject())));
        case USER, DESCRIPTOR, RECORD, SOCKET, MOUNT -> {}
      }
    }
    var runtime = ProcessRef.parseIfWhole(view.process());
    return new Answer(
        box,
        view.id(),
        runtime.map(ProcessRef::pid).orElse(0),
        runtime.filter(ProcessRef::isAlive).isPresent(),
        holdings,
        pids.stream().map(StuckProcesses::describe).toList(),
        mounts);
  }
}
