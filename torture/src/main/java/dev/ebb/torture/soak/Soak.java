package dev.ebb.torture.soak;

import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Terminal;
import dev.ebb.oracle.Footprint;
import dev.ebb.oracle.OneHome;
import dev.ebb.torture.host.Host;
import dev.ebb.torture.host.Program;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A run: errands in rounds, the daemon measured after each, and a report. */
public final class Soak {
  private static final int ROUNDS = 50;
  private static final int FEWEST_A_ROUND = 10;
  private static final Duration SETTLES = Duration.ofSeconds(20);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(20);
  private static final int FAILURES_TOLD = 20;

  /** A daemon that refuses for so long does not recover. */
  private static final Duration REFUSED_PATIENCE = Duration.ofSeconds(60);

  private final SoakSettings settings;
  private final Host host;
  private final OneHome home;
  private final ServedHome daemon;
  private final BooleanSupplier isCalledOff;
  private final List<Measurement> measured = new ArrayList<>();
  private final Map<String, AtomicLong> counts = new ConcurrentHashMap<>();
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger next = new AtomicInteger();
  private final long began = System.nanoTime();
  private @Nullable Footprint baseline;

  private Soak(SoakSettings settings, Host host, BooleanSupplier isCalledOff) {
    this.settings = settings;
    this.host = host;
    this.isCalledOff = isCalledOff;
    home = new OneHome(host.home());
    daemon = new ServedHome(host, home, settings.openFiles(), settings.flags());
  }

  /**
   * Runs, and reports on stdout and in files.
   *
   * @param isCalledOff true once it is to end early, in good order
   * @return 0 if every errand went well and nothing grew, else 1
   */
  public static int run(SoakSettings settings, Host host, BooleanSupplier isCalledOff)
      throws IOException, InterruptedException {
    try {
      Self.becomeSubreaper();
    } catch (KernelException e) {
      throw new IOException(e);
    }
    SoakReport report = new Soak(settings, host, isCalledOff).run();
    System.out.println(settings.json() ? report.json() : report.text());
    if (settings.report().isPresent()) {
      report.write(settings.report().get());
    }
    return report.isClean() ? 0 : 1;
  }

  private SoakReport run() throws IOException, InterruptedException {
    int round = Math.max(FEWEST_A_ROUND, settings.runs() / ROUNDS);
    try (daemon) {
      daemon.start();
      // From then on the daemon has the resources that it opens once and keeps.
      errands(Math.min(round, settings.runs()));
      measure();
      while (next.get() < settings.runs() && failures.isEmpty() && !isCalledOff.getAsBoolean()) {
        errands(Math.min(settings.runs(), next.get() + round));
        measure();
      }
      int code = daemon.stop();
      if (code != 0) {
        failures.add("the daemon ended with " + code);
      }
    }
    return report();
  }

  private SoakReport report() {
    var sums = new TreeMap<String, Long>();
    counts.forEach((word, count) -> sums.put(word, count.get()));
    return new SoakReport(
        settings,
        host.description(),
        Duration.ofNanos(System.nanoTime() - began),
        next.get(),
        sums,
        failures.stream().limit(FAILURES_TOLD).toList(),
        Trends.of(measured));
  }

  // --- the work ---

  private void errands(int end) throws InterruptedException {
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < settings.clients(); i++) {
      threads.add(Thread.ofPlatform().name("soak-client-" + i).start(() -> runUntil(end)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private void runUntil(int end) {
    while (failures.isEmpty() && !isCalledOff.getAsBoolean()) {
      int number = next.getAndUpdate(n -> n < end ? n + 1 : n);
      if (number >= end) {
        return;
      }
      try {
        runOnce(Errand.of(number));
      } catch (IOException | RuntimeException e) {
        failures.add("run " + number + ": " + e);
      }
    }
  }

  /** A refusal that says "later" is an answer; it is counted, and the errand run again. */
  private void runOnce(Errand errand) throws IOException {
    Deadline deadline = Deadline.in(REFUSED_PATIENCE);
    EbbClient client = daemon.client();
    while (true) {
      try {
        errand.run(client, settings.packages());
        count(errand.wireName());
        return;
      } catch (EbbException e) {
        boolean isLater = e.status() == 503 || e.status() == 429;
        if (!isLater || !e.isRetryable() || deadline.isOver()) {
          throw e;
        }
        count("refused: " + e.code());
        deadline.pause(LOOK_AGAIN);
      }
    }
  }

  private void count(String word) {
    counts.computeIfAbsent(word, _ -> new AtomicLong()).incrementAndGet();
  }

  // --- what is left of it ---

  /** When it is idle: without connections, and after a collection. */
  private void measure() throws IOException {
    daemon.disconnect();
    collect();
    home.learn();
    Deadline deadline = Deadline.in(SETTLES);
    Footprint first = baseline;
    Footprint now = Footprint.of(daemon.pid());
    while (first != null && !now.growthSince(first).isEmpty() && deadline.pause(LOOK_AGAIN)) {
      now = Footprint.of(daemon.pid());
    }
    Measurement measurement = Measurement.of(next.get(), daemon.pid(), home);
    if (first == null) {
      baseline = measurement.footprint();
    }
    measured.add(measurement);
    daemon.reconnect();
    print(measurement);
  }

  /** Garbage is no leak. Without the JDK's own tool it is measured as it is. */
  private void collect() throws IOException {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    var words = List.of("jcmd", "-J-XX:-UsePerfData", Integer.toString(daemon.pid()), "GC.run");
    boolean isCollected =
        Files.isExecutable(jcmd) && Program.run(jcmd, words, host.environment()).code() == 0;
    if (!isCollected) {
      count("measured without a garbage collection");
    }
  }

  private void print(Measurement now) {
    double seconds = (System.nanoTime() - began) / 1e9;
    String line =
        "ebb soak: %d of %d runs, %.0f a second; %.0f descriptors, %.0f threads, %.0f MiB"
            .formatted(
                now.runs(),
                settings.runs(),
                now.runs() / seconds,
                now.values().getOrDefault("descriptors", 0.0),
                now.values().getOrDefault("threads", 0.0),
                now.values().getOrDefault(Measurement.MEMORY, 0.0) / (1 << 20));
    if (Terminal.isAt(Terminal.Stream.STDERR)) {
      System.err.print("\r\u001b[K" + line + (now.runs() >= settings.runs() ? "\n" : ""));
    } else {
      System.err.println(line);
    }
  }
}
