package dev.ebb.bench;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * {@code ebb serve} until it serves: with its start-up cache and without, in turn; and with it on a
 * home where the last daemon left many boxes that have ended.
 */
public final class DaemonStart {
  private static final String BY_CACHE = "";
  private static final String BY_NO_CACHE = "-XX:AOTMode=off";

  private static final int KEPT = 100;

  private DaemonStart() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 20;
    int ended = args.length > 1 ? Integer.parseInt(args[1]) : 5000;
    Path home = Files.createTempDirectory("ebb-bench");
    try {
      var boxes = FinishedBoxes.in(home);
      var without = new Series("without the cache");
      var with = new Series("with the cache");
      var full = new Series("with the cache, " + ended + " ended boxes left");
      for (int i = 0; i < rounds; i++) {
        without.take(() -> start(BY_NO_CACHE), true);
        with.take(() -> start(BY_CACHE), true);
        boxes.add(ended);
        full.take(() -> start(boxes), true);
      }
      System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ without | CPU ms |");
      System.out.println("|---|---|---|---|---|");
      System.out.println(without.row(without));
      System.out.println(with.row(without));
      System.out.println(full.row(without));
      boxes.remove();
    } finally {
      ServedDaemon.delete(home);
    }
  }

  /** How many nanoseconds it took, on a home of its own. */
  private static long start(String options) throws Exception {
    long begun = System.nanoTime();
    try (var _ = ServedDaemon.start(options)) {
      return System.nanoTime() - begun;
    }
  }

  /**
   * Starts the daemon on the home of {@code boxes}; outside the measured time it forgets all but
   * the boxes that are kept.
   */
  private static long start(FinishedBoxes boxes) throws Exception {
    long begun = System.nanoTime();
    ServedDaemon daemon = ServedDaemon.start(boxes.home(), BY_CACHE);
    long took = System.nanoTime() - begun;
    while (boxes.count() > KEPT) {
      Thread.sleep(100);
    }
    daemon.stop();
    return took;
  }
}
