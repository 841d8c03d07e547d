package dev.ebb.chaos;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** An embedding application that makes boxes with hostile commands in them, until it is killed. */
final class Havoc {
  private static final int WORKERS = 3;
  private static final Duration LIFE = Duration.ofMillis(40);
  private static final BoxSpec SPEC = BoxSpec.defaults().withLimits(Limits.defaults().withPids(24));

  static final List<String> HOSTILE =
      List.of(
          // Daemons in sessions of their own that ignore what can be ignored.
          "trap '' TERM HUP INT; for i in 1 2 3 4; do setsid sh -c 'trap \"\" TERM; sleep 1000' & done; wait",
          // Forks for ever, each child leaves its parent at once.
          "fork() { (sleep 1000 &) 2>/dev/null; }; while :; do fork; sleep 0.001; done",
          // A tree four deep that holds its output open.
          "sh -c 'sh -c \"sh -c \\\"sleep 1000\\\" & sleep 1000\" & sleep 1000' & sleep 1000",
          // Its own leader is gone, the rest stays.
          "setsid sleep 1000 & exit 0");

  private Havoc() {}

  /** Arguments: home and seed. */
  public static void main(String[] arguments) {
    System.out.println("opening");
    Engine engine = Engine.open(Path.of(arguments[0]));
    System.out.println("open");
    var seeds = new Random(Long.parseLong(arguments[1]));
    for (int i = 0; i < WORKERS; i++) {
      var chance = new Chance(seeds.nextLong());
      Thread.ofPlatform().name("worker").start(() -> work(engine, chance));
    }
  }

  private static void work(Engine engine, Chance chance) {
    while (true) {
      Box box = engine.create(SPEC);
      engine.start(box, ExecSpec.of("/bin/sh", "-c", HOSTILE.get(chance.below(HOSTILE.size()))));
      System.out.println("busy");
      chance.pause(LIFE);
      if (!engine.release(box).isClean()) {
        throw new IllegalStateException("stuck: " + box.release());
      }
    }
  }
}
