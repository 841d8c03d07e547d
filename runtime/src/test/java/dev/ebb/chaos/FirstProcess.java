package dev.ebb.chaos;

import dev.ebb.engine.Engine;
import dev.ebb.engine.RunResult;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.process.ProcFs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** An application that is pid 1, as in a container without an init, and runs many commands. */
final class FirstProcess {
  private static final int SELF = 1;
  private static final int WARM_UP = 8;
  private static final String OWN_LOOK = "/proc/1/fd";

  private FirstProcess() {}

  /** Arguments: home and number of runs. */
  public static void main(String[] arguments) throws Exception {
    if (ProcessHandle.current().pid() != SELF) {
      throw new IllegalStateException("not pid 1 but " + ProcessHandle.current().pid());
    }
    try (Engine engine = Engine.open(Path.of(arguments[0]))) {
      runMany(engine, WARM_UP);
      List<String> before = descriptors();
      runMany(engine, Integer.parseInt(arguments[1]));
      List<String> after = descriptors();
      System.out.println("zombies " + zombies());
      int makers = Kin.forkservers(engine.holdings()).size();
      System.out.println("processes " + (Kin.all().size() - makers));
      System.out.println("descriptors " + (after.equals(before) ? "same" : before + " " + after));
      System.out.println("busy cgroups " + engine.leaks());
    }
    System.out.println("closed");
  }

  private static List<Integer> zombies() throws Exception {
    return Kin.all().stream()
        .filter(pid -> ProcFs.stat(pid).filter(ProcFs.Stat::isZombie).isPresent())
        .toList();
  }

  /** Without what the engine's thread opens for a moment in /proc, to look for children. */
  private static List<String> descriptors() throws Exception {
    return Eventually.find(
            Eventually.SOON,
            () ->
                Optional.of(Kin.descriptors(SELF).stream().sorted().toList())
                    .filter(targets -> targets.stream().noneMatch(FirstProcess::isInProc)))
        .orElseThrow(() -> new IllegalStateException("something in /proc stays open"));
  }

  private static boolean isInProc(String target) {
    return target.startsWith("/proc/") && !target.equals(OWN_LOOK);
  }

  private static void runMany(Engine engine, int runs) throws Exception {
    try (var threads = Executors.newFixedThreadPool(3)) {
      var results = new ArrayList<Future<?>>();
      for (int i = 0; i < runs; i++) {
        int number = i;
        results.add(threads.submit(() -> run(engine, number % 2 == 1, number % 3 == 0)));
      }
      for (Future<?> result : results) {
        result.get();
      }
    }
  }

  private static RunResult run(Engine engine, boolean timeout, boolean daemons)
      throws InterruptedException {
    String script =
        (daemons ? "setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000' & " : "")
            + (timeout ? "sleep 1000" : "exit 0");
    var result =
        engine.run(
            BoxSpec.defaults(),
            ExecSpec.of("sh", "-c", script)
                .withTimeout(timeout ? Duration.ofMillis(100) : Duration.ofMinutes(1))
                .withGrace(Duration.ofMillis(50)));
    boolean asExpected =
        timeout
            ? result.cause() instanceof ExitCause.TimedOut
            : result.cause().equals(new ExitCause.Exited(0));
    if (!asExpected || !result.certificate().isClean()) {
      throw new IllegalStateException(result.cause() + " " + result.certificate());
    }
    return result;
  }
}
