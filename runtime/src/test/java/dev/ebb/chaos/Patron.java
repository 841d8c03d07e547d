package dev.ebb.chaos;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.box.Box;
import dev.ebb.box.PastBox;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** A daemon that detaches some of its boxes, until it is killed. */
final class Patron {
  private Patron() {}

  /**
   * Makes {@code detached} boxes and as many that are attached, each of which runs all {@code
   * commands}. Prints "ready" when they run.
   */
  @MustBeClosed
  static ChildJvm start(Path home, int detached, String... commands) throws IOException {
    var arguments = new ArrayList<>(List.of(home.toString(), Integer.toString(detached)));
    arguments.addAll(List.of(commands));
    return ChildJvm.start(Patron.class, arguments.toArray(String[]::new));
  }

  /** Arguments: home, number of boxes of each kind, commands. */
  public static void main(String[] arguments) throws Exception {
    Engine engine = Engine.openForDaemon(Path.of(arguments[0]));
    engine.adopt();
    engine.past().open();
    int count = Integer.parseInt(arguments[1]);
    for (int i = 0; i < 2 * count; i++) {
      Box box = engine.create(BoxSpec.defaults());
      if (i % 2 == 0) {
        box.detach(Optional.empty(), Map.of("n", Integer.toString(i / 2)));
      } else {
        engine
            .past()
            .begin(new PastBox(box.id(), box.spec(), Map.of(), Optional.empty(), List.of()));
      }
      for (int j = 2; j < arguments.length; j++) {
        var spec = ExecSpec.of("/bin/sh", "-c", arguments[j]).withTimeout(Duration.ofSeconds(60));
        var _ = engine.start(box, spec).awaitStart(Duration.ofSeconds(20));
      }
    }
    System.out.println("ready");
    while (true) {
      LockSupport.park(engine);
    }
  }
}
