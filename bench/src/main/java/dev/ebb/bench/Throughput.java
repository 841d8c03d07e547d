package dev.ebb.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** How many times a second several threads together can do something without a pause. */
final class Throughput {
  private Throughput() {}

  /**
   * Measures the throughput of all clients together.
   *
   * @param works the work of each client
   */
  static double perSecond(List<Series.Work> works, int seconds) throws Exception {
    long begun = System.nanoTime();
    long end = begun + TimeUnit.SECONDS.toNanos(seconds);
    var tasks = new ArrayList<Callable<Long>>();
    for (Series.Work work : works) {
      tasks.add(() -> count(work, end));
    }
    long done = 0;
    try (var threads = Executors.newFixedThreadPool(works.size())) {
      for (Future<Long> each : threads.invokeAll(tasks)) {
        done += each.get();
      }
    }
    return done * 1e9 / (System.nanoTime() - begun);
  }

  /** How often {@code work} ran until {@code end}. */
  private static long count(Series.Work work, long end) throws Exception {
    long done = 0;
    while (System.nanoTime() < end) {
      work.run();
      done++;
    }
    return done;
  }
}
