package dev.ebb.bench;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.Arrays;

/** The times of one contender, and the processor time it cost this process and its children. */
final class Series {
  private static final double TICK_MILLIS = 10;

  private final String name;
  private double[] millis = new double[0];
  private double cpuMillis;

  Series(String name) {
    this.name = name;
  }

  /** What is measured. */
  interface Work {
    void run() throws Exception;
  }

  /** Does it once; {@code count} false for warming up. */
  void measure(Work work, boolean count) throws Exception {
    double cpu = cpuMillis();
    long start = System.nanoTime();
    work.run();
    long end = System.nanoTime();
    if (count) {
      millis = Arrays.copyOf(millis, millis.length + 1);
      millis[millis.length - 1] = (end - start) / 1e6;
      cpuMillis += cpuMillis() - cpu;
    }
  }

  double percentile(double share) {
    double[] sorted = millis.clone();
    Arrays.sort(sorted);
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  }

  /** A row of the table; {@code base} is what the ratio refers to. */
  String row(Series base, String pids) {
    return "| %s | %.2f | %.2f | %.2f | %.2f | %s |"
        .formatted(
            name,
            percentile(0.5),
            percentile(0.99),
            percentile(0.5) / base.percentile(0.5),
            cpuMillis / millis.length,
            pids);
  }

  /** KERNEL: proc(5), stat: utime, stime, cutime, cstime, in ticks of 10 ms; summed over a run. */
  private static double cpuMillis() throws KernelException {
    String stat = Filesystem.read(Path.of("/proc/self/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    double ticks = 0;
    for (int i = 11; i <= 14; i++) {
      ticks += Long.parseLong(fields[i]);
    }
    return ticks * TICK_MILLIS;
  }
}
