package dev.ebb.chaos;

import dev.ebb.box.Box;
import dev.ebb.box.BoxSpec;
import dev.ebb.engine.Engine;
import dev.ebb.exec.ExecSpec;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** An embedding application that keeps a number of boxes, until it is killed. */
final class Tenant {
  private Tenant() {}

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
