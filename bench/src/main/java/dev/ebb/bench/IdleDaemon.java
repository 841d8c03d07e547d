package dev.ebb.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Counts what the processes of a daemon without work take: PIDs, memory, descriptors, cgroups. */
final class IdleDaemon {
  private static final double MIB = 1024;

  private final EverydayMode mode;
  private final Page page;

  IdleDaemon(EverydayMode mode, Page page) {
    this.mode = mode;
    this.page = page;
  }

  /**
   * What the daemon has now.
   *
   * @param pids threads of all its processes
   * @param residentMib of the daemon, without its helpers
   * @param sharedMib of all its processes, a shared page counted in parts
   */
  record Use(long pids, double residentMib, double sharedMib, long descriptors, long cgroups) {
    static Use of(ServedDaemon daemon) throws IOException {
      long pids = 0;
      double shared = 0;
      for (ProcessHandle each : family(daemon)) {
        Path proc = Path.of("/proc/" + each.pid());
        pids += field(proc.resolve("status"), "Threads:");
        shared += field(proc.resolve("smaps_rollup"), "Pss:") / MIB;
      }
      Path own = Path.of("/proc/" + daemon.pid());
      double resident = field(own.resolve("status"), "VmRSS:") / MIB;
      try (Stream<Path> open = Files.list(own.resolve("fd"))) {
        return new Use(pids, resident, shared, open.count(), cgroups(daemon));
      }
    }

    private static List<ProcessHandle> family(ServedDaemon daemon) {
      ProcessHandle first = ProcessHandle.of(daemon.firstPid()).orElseThrow();
      return Stream.concat(Stream.of(first), first.descendants()).toList();
    }

    private static long field(Path file, String name) throws IOException {
      return Files.readAllLines(file).stream()
          .filter(line -> line.startsWith(name))
          .map(line -> line.replaceAll("[^0-9]", ""))
          .mapToLong(Long::parseLong)
          .findFirst()
          .orElse(0);
    }

    /** Cgroups of its instances, in all hierarchies. */
    private static long cgroups(ServedDaemon daemon) throws IOException {
      List<String> instances;
      try (Stream<Path> all = Files.list(daemon.home().resolve("instances"))) {
        instances = all.map(path -> path.getFileName().toString()).toList();
      }
      try (Stream<Path> all = Files.walk(Path.of("/sys/fs/cgroup"))) {
        return all.filter(Files::isDirectory)
            .filter(path -> instances.stream().anyMatch(path.toString()::contains))
            .count();
      }
    }
  }

  /** Measures a daemon that was never asked, and one that has been busy. */
  void run(ServedDaemon busy) throws Exception {
    page.table(
        "An idle daemon",
        mode.idleSeconds() + " s without a call",
        "PIDs",
        "RSS MiB",
        "PSS of all");
    try (var fresh = ServedDaemon.startDefault()) {
      TimeUnit.SECONDS.sleep(mode.idleSeconds());
      show("never asked", Use.of(fresh));
      show("after all calls of this report", Use.of(busy));
    }
  }

  private void show(String what, Use use) {
    page.row("| %s | %d | %.0f | %.0f |", what, use.pids(), use.residentMib(), use.sharedMib());
    page.goal("PIDs of an idle daemon, " + what, (double) use.pids(), 24);
    page.goal("resident memory of an idle daemon, MiB, " + what, use.residentMib(), 90);
  }

  // --- after many runs ---

  /** Runs {@code total} boxes, and shows what the daemon has every now and then. */
  void slope(ServedDaemon daemon, PlainClient client, int total) throws Exception {
    page.table(total + " runs", "runs", "descriptors", "RSS MiB", "cgroups", "PIDs");
    int step = Math.max(1, total / 10);
    for (int done = 0; ; done++) {
      if (done % step == 0) {
        Use use = Use.of(daemon);
        page.row(
            "| %s | %d | %.0f | %d | %d |",
            String.format(Locale.ROOT, "%,d", done),
            use.descriptors(),
            use.residentMib(),
            use.cgroups(),
            use.pids());
      }
      if (done == total) {
        return;
      }
      client.ask(
          done % 4 == 0 ? PlainClient.code("python", PlainClient.SUM) : PlainClient.RUN_TRUE);
    }
  }
}
