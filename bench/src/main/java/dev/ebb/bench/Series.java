package dev.ebb.bench;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** The times of one contender, and the processor time it cost some processes and their children. */
final class Series {
  private static final double TICK_MILLIS = 10;

  private final String name;
  private final List<Long> pids;
  private final boolean isPeer;
  private double[] millis = new double[0];
  private double cpuMillis;

  /** Counts the processor time of this process. */
  Series(String name) {
    this(name, ProcessHandle.current().pid());
  }

  /**
   * Counts the processor time of others.
   *
   * @param pids the processes that work for it
   */
  Series(String name, long... pids) {
    this(name, false, pids);
  }

  private Series(String name, boolean isPeer, long... pids) {
    this.name = name;
    this.isPeer = isPeer;
    this.pids = LongStream.of(pids).boxed().toList();
  }

  /** Measurements of a peer whose processor time is not counted. */
  static Series ofPeer(String name) {
    return new Series(name, true);
  }

  /** Measurements of a peer that Ebb is compared with. */
  static Series ofPeer(String name, long pid) {
    return new Series(name, true, pid);
  }

  String name() {
    return name;
  }

  boolean isPeer() {
    return isPeer;
  }

  /** Work that is measured. */
  interface Work {
    void run() throws Exception;
  }

  /** Work that measures its own nanoseconds. */
  interface Timed {
    long run() throws Exception;
  }

  /** Does it once; {@code count} false for warming up. */
  void measure(Work work, boolean count) throws Exception {
    take(
        () -> {
          long start = System.nanoTime();
          work.run();
          return System.nanoTime() - start;
        },
        count);
  }

  /** Like the other {@code take}, with the time that the work itself measured. */
  void take(Timed work, boolean count) throws Exception {
    double cpu = cpuMillis();
    long nanos = work.run();
    if (count) {
      add(nanos);
      cpuMillis += cpuMillis() - cpu;
    }
  }

  /** Adds a time whose processor time is not counted. */
  void add(long nanos) {
    millis = Arrays.copyOf(millis, millis.length + 1);
    millis[millis.length - 1] = nanos / 1e6;
  }

  double percentile(double share) {
    double[] sorted = millis.clone();
    Arrays.sort(sorted);
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  }

  /** A row of the table; {@code base} is what the ratio refers to. */
  String row(Series base) {
    return timeRow(base) + " %.2f |".formatted(cpuMillis / millis.length);
  }

  /**
   * Returns a row without processor time, where much of that is not part of the measured work; with
   * a ratio for each of {@code bases}.
   */
  String timeRow(Series... bases) {
    var row =
        new StringBuilder(
            "| %s | %.2f | %.2f |".formatted(name, percentile(0.5), percentile(0.99)));
    for (Series base : bases) {
      row.append(" %.2f |".formatted(percentile(0.5) / base.percentile(0.5)));
    }
    return row.toString();
  }

  /** Returns a row that also has the number of processes meanwhile. */
  String row(Series base, int processes) {
    return row(base) + " " + processes + " |";
  }

  /** KERNEL: proc(5), stat: utime, stime, cutime, cstime, in ticks of 10 ms; summed over a run. */
  private double cpuMillis() throws KernelException {
    double ticks = 0;
    for (long pid : pids) {
      String stat = Filesystem.read(Path.of("/proc/" + pid + "/stat"));
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      for (int i = 11; i <= 14; i++) {
        ticks += Long.parseLong(fields[i]);
      }
    }
    return ticks * TICK_MILLIS;
  }
}
