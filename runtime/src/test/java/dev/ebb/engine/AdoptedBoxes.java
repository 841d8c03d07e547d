package dev.ebb.engine;

import dev.ebb.testkit.TestHost;

/** Releases the detached boxes of a failed test, which nothing else would end. */
public final class AdoptedBoxes {
  private AdoptedBoxes() {}

  public static void releaseAll(TestHost host) throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home())) {
      for (Engine.Adopted left : engine.adopt()) {
        engine.release(left.box());
      }
    }
    TestHost.reapOrphans();
  }
}
