package dev.ebb.server.service;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.StallWatch;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * Housekeeping at a steady pace, by a virtual thread of its own. A round after a standstill of the
 * process is skipped: requests that arrived meanwhile may be unread.
 */
public final class Rounds {
  private Rounds() {}

  /**
   * Repeats the work.
   *
   * @param name of the thread
   * @param isOver asked before each round
   */
  public static void begin(String name, Duration pace, BooleanSupplier isOver, Runnable work) {
    Thread.ofVirtual().name(name).start(() -> go(pace, isOver, work));
  }

  private static void go(Duration pace, BooleanSupplier isOver, Runnable work) {
    var stalls = new StallWatch();
    Deadline never = Deadline.never();
    while (!isOver.getAsBoolean() && never.pause(pace)) {
      if (!stalls.hasStalled()) {
        work.run();
      }
    }
  }
}
