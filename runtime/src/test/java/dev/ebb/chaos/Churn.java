package dev.ebb.chaos;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * An embedding application that has bwrap make one box after the other, and ends each at once. It
 * keeps no box, so its children can be looked through in an instant, however long it runs.
 */
final class Churn {
  private Churn() {}

  /** Prints "opening", and goes on until it is killed. */
  @MustBeClosed
  static ChildJvm start(Path home) throws IOException {
    return ChildJvm.startWith(List.of("-Debb.maker=bwrap"), Churn.class, home.toString());
  }

  /** Argument: home. */
  public static void main(String[] arguments) {
    System.out.println("opening");
    Engine engine = Engine.open(Path.of(arguments[0]));
    while (engine.release(engine.create(BoxSpec.defaults())).isClean()) {}
    throw new IllegalStateException("a box is stuck");
  }
}
