package dev.ebb.bench;

import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import dev.ebb.process.ProcFs;
import java.time.Duration;
import java.util.List;

/**
 * Runs many commands that leave processes behind, by one runtime, and checks that their PIDs are
 * freed. Run it as pid 1 of a container, where no other process reaps.
 */
public final class PidSoak {
  private static final List<String> MESSES =
      List.of(
          "exit 3",
          "sleep 1000",
          "setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000' & exit 0",
          "trap '' TERM; for i in 1 2 3 4 5 6 7 8; do (setsid sleep 1000 &); done; sleep 1000",
          "bomb() { bomb | bomb & }; bomb; sleep 1000");

  private PidSoak() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 200;
    BoxSpec box = BoxSpec.defaults().withLimits(Limits.defaults().withPids(60));
    try (Engine engine = Engine.open()) {
      run(engine, box, MESSES.size());
      long before = pids();
      run(engine, box, rounds);
      System.out.printf(
          "%d runs: PIDs %d before, %d after; %d zombies; %d processes in all%n",
          rounds, before, pids(), zombies(), ProcFs.all().size());
    }
  }

  private static void run(Engine engine, BoxSpec box, int rounds) throws InterruptedException {
    for (int i = 0; i < rounds; i++) {
      var spec =
          ExecSpec.of("bash", "-c", MESSES.get(i % MESSES.size()))
              .withTimeout(Duration.ofMillis(150))
              .withGrace(Duration.ofMillis(50));
      var certificate = engine.run(box, spec).certificate();
      if (!certificate.isClean()) {
        throw new IllegalStateException(certificate.toString());
      }
    }
  }

  /** Processes and threads, as a pids limit counts them. */
  private static long pids() {
    return ProcFs.all().stream()
        .flatMap(pid -> ProcFs.stat(pid).stream())
        .mapToLong(ProcFs.Stat::threads)
        .sum();
  }

  private static long zombies() {
    return ProcFs.all().stream()
        .flatMap(pid -> ProcFs.stat(pid).stream())
        .filter(ProcFs.Stat::isZombie)
        .count();
  }
}
