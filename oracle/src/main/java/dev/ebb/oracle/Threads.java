package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The platform threads of a JVM, as the kernel lists them: each is a PID. */
public final class Threads implements Detector {
  /**
   * Threads that come and go as the JVM or the test framework likes; the kernel cuts names at 15.
   */
  private static final List<String> TOLERATED =
      List.of(
          // Compilers are added under load and leave when idle.
          "C1 CompilerThre",
          "C2 CompilerThre",
          // So are the workers of the collectors.
          "GC Thread#",
          "G1 ",
          // Carriers of virtual threads, the common pool, and their timers: pools of the JDK, idle
          // out after a while. What they run is seen by VirtualThreads.
          "ForkJoinPool",
          "VirtualThread-u",
          // java.lang.Process keeps its waiters for a minute; a child that lives is seen as such.
          "process reaper",
          // Answers jcmd and debuggers.
          "Attach Listener",
          // @Timeout of JUnit makes it at first use, for the whole run.
          "junit-jupiter-t");

  private static final int START_TIME = 19;

  private final Path process;

  private Threads(Path process) {
    this.process = process;
  }

  public static Threads ofThisProcess() {
    return new Threads(Proc.SELF);
  }

  public static Threads of(int pid) {
    return new Threads(Proc.ROOT.resolve(Integer.toString(pid)));
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Path task : Proc.list(process.resolve("task"))) {
      var stat = Proc.read(task.resolve("stat"));
      if (stat.isPresent()) {
        String name =
            stat.get().substring(stat.get().indexOf('(') + 1, stat.get().lastIndexOf(')'));
        String[] rest = stat.get().substring(stat.get().lastIndexOf(')') + 2).split(" ");
        if (TOLERATED.stream().noneMatch(name::startsWith)) {
          String id = task.getFileName().toString();
          // A thread gets its name a moment after it starts, so the name is no identity.
          traces.add(
              new Trace(
                  Invariant.I7,
                  "thread",
                  "tid " + id + "@" + rest[START_TIME],
                  "tid " + id + " " + name));
        }
      }
    }
    return traces;
  }
}
