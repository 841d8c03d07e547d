package dev.ebb.chaos;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** An embedding application that keeps a number of boxes, until it is killed. */
final class Tenant {
  private Tenant() {}

  /** Prints "opening", and "full" when all boxes are there. */
  @MustBeClosed
  static ChildJvm start(Path home, int boxes) throws IOException {
    return ChildJvm.start(Tenant.class, home.toString(), Integer.toString(boxes));
  }

  /** Arguments: home and number of boxes. */
  public static void main(String[] arguments) {
    System.out.println("opening");
    Engine engine = Engine.open(Path.of(arguments[0]));
    for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
      Box box = engine.create(BoxSpec.defaults());
      engine.start(box, ExecSpec.of("/bin/sh", "-c", Havoc.HOSTILE.getFirst()));
    }
    System.out.println("full");
    while (true) {
      LockSupport.park(engine);
    }
  }
}
