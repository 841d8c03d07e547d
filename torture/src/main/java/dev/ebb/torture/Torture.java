package dev.ebb.torture;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.torture.host.Host;
import dev.ebb.torture.host.Program;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A run: waves of hostile work on a daemon of its own, each ended and judged, and a report. */
public final class Torture {
  private static final int SOCKET_PATH_MOST = 107;
  private static final Duration TICK = Duration.ofSeconds(1);
  private static final int VIOLATED = 1;

  /** Few, so that it does not take many to have them all. */
  private static final int CONNECTIONS = 64;

  private final Settings settings;
  private final Host host;
  private final Tally tally = new Tally();
  private final OneHome home;
  private final ServedHome daemon;
  private final Plan plan;
  private final Chaos chaos;
  private final Progress progress;
  private final BooleanSupplier isCalledOff;
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();

  private Torture(Settings settings, Host host, BooleanSupplier isCalledOff) {
    this.isCalledOff = isCalledOff;
    this.settings = settings;
    this.host = host;
    home = new OneHome(host.home());
    int connections = CONNECTIONS + 2 * settings.boxes();
    daemon =
        new ServedHome(
            host,
            home,
            0,
            List.of("--listen", "127.0.0.1:0", "--connections", Integer.toString(connections)));
    plan = new Plan(settings.seed(), settings.profile(), workloads(tally), settings.only());
    chaos = new Chaos(daemon, tally, plan, new Faults(daemon, tally, connections), host);
    progress = new Progress(tally, settings.length());
  }

  private static List<Workload> workloads(Tally tally) {
    if (Files.isExecutable(Path.of("/usr/bin/python3"))) {
      return List.of(Workload.values());
    }
    tally.skip("workloads in python: this host has no /usr/bin/python3");
    return Arrays.stream(Workload.values()).filter(each -> !each.needsPython()).toList();
  }

  /**
   * Runs, and reports on stdout and in files.
   *
   * @param isCalledOff true once it is to end early, in good order
   * @return 0 if nothing was left, 1 if something was
   */
  public static int run(Settings settings, Host host, BooleanSupplier isCalledOff)
      throws IOException, InterruptedException {
    requireShort(host.socket());
    Report report = new Torture(settings, host, isCalledOff).run();
    System.out.println(settings.json() ? report.json() : report.text());
    if (settings.report().isPresent()) {
      report.write(settings.report().get());
    }
    return report.isClean() ? 0 : VIOLATED;
  }

  /** Plants every violation, and reports whether each is detected. */
  public static int selfTest(Host host, boolean json) throws IOException {
    becomeSubreaper();
    return new SelfTest(host).run(json) ? 0 : VIOLATED;
  }

  private static void requireShort(Path socket) throws IOException {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > SOCKET_PATH_MOST) {
      throw new IOException(
          "the path %s is too long for a socket; set EBB_HOME to a shorter one".formatted(socket));
    }
  }

  /** Orphans of the daemon's tree stay below us. */
  private static void becomeSubreaper() throws IOException {
    try {
      Self.becomeSubreaper();
    } catch (KernelException e) {
      throw new IOException(e);
    }
  }

  private Report run() throws IOException, InterruptedException {
    becomeSubreaper();
    System.err.println(
        "ebb torture: seed %d, profile %s, %d boxes at once"
            .formatted(settings.seed(), settings.profile().wireName(), settings.boxes()));
    var judge = new Judge(home, tally);
    try (daemon) {
      daemon.start();
      warmUp();
      judge.takeBaseline(daemon);
      waves(judge);
      judge.ended(daemon.stop(), daemon);
      judge.log(daemon);
      requireSwept();
    } catch (IOException e) {
      tally.broken(Invariant.I13, "torture failed: " + e, "the run");
    }
    progress.end();
    return tally.report(settings, host.description());
  }

  // --- the work ---

  /** Resources that the daemon opens once and keeps are part of its baseline. */
  private void warmUp() throws IOException {
    EbbClient client = daemon.client();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < settings.boxes(); i++) {
      String name = "warm-" + i;
      threads.add(start("torture-" + name, () -> warmUp(client, name)));
    }
    join(threads);
  }

  private static void warmUp(EbbClient client, String name) throws IOException {
    client
        .boxes()
        .create(
            BoxRequest.defaults()
                .withName(name)
                .withLimits(new Limits(64L << 20, 32, null, 8L << 20)));
    try (var following = client.execs(name).runAndFollow(ExecRequest.of("echo", "warm"))) {
      while (following.next().isPresent()) {}
    }
    client.files(name).write("/workspace/warm", new byte[1]);
    client.boxes().remove(name, true);
  }

  private void waves(Judge judge) throws IOException, InterruptedException {
    Deadline end = Deadline.in(settings.length());
    int[] rounds = new int[settings.boxes()];
    for (int wave = 1; !isOver(end); wave++) {
      wave(judge, end.sooner(settings.profile().wave()), rounds, wave);
      judge.idle(daemon, "after wave " + wave);
    }
    Exception failed = failure.get();
    if (failed != null) {
      throw new IOException(failed.getMessage(), failed);
    }
  }

  private boolean isOver(Deadline deadline) {
    return deadline.isOver() || failure.get() != null || isCalledOff.getAsBoolean();
  }

  private void wave(Judge judge, Deadline deadline, int[] rounds, int number)
      throws IOException, InterruptedException {
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < rounds.length; i++) {
      int worker = i;
      threads.add(start("torture-worker-" + i, () -> work(judge, deadline, rounds, worker)));
    }
    threads.add(start("torture-chaos", () -> chaos.run(() -> isOver(deadline))));
    for (Thread thread : threads) {
      while (!thread.join(TICK)) {
        int processes = processes();
        tally.sample(processes);
        progress.show("wave " + number, processes);
      }
    }
  }

  private static int processes() throws IOException {
    ProcessTable all = ProcessTable.read();
    return (int) all.entries().stream().filter(all::isBelowUs).count();
  }

  private interface Work {
    void run() throws IOException;
  }

  private void work(Judge judge, Deadline deadline, int[] rounds, int worker) throws IOException {
    while (!isOver(deadline)) {
      Worker.run(daemon, judge, tally, chaos, plan.round(worker, rounds[worker]++));
    }
  }

  private Thread start(String name, Work work) {
    return Thread.ofPlatform()
        .name(name)
        .start(
            () -> {
              try {
                work.run();
              } catch (IOException | RuntimeException e) {
                failure.compareAndSet(null, e);
              }
            });
  }

  private void join(List<Thread> threads) throws IOException {
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    Exception failed = failure.get();
    if (failed != null) {
      throw new IOException(failed.getMessage(), failed);
    }
  }

  /** Leftovers of another home of this host are not ours. */
  private boolean hasOurs(String findings) {
    boolean isJson = findings.strip().startsWith("[") || findings.strip().startsWith("{");
    return !isJson || home.instances().stream().anyMatch(findings::contains);
  }

  /** A sweep after the end must find nothing. */
  private void requireSwept() throws IOException {
    var words = List.of("ebb", "sweep", "--dry-run", "--json");
    Program.Outcome swept = Program.run(host.script(), words, host.environment());
    if (swept.code() != 0 || hasOurs(swept.text())) {
      tally.broken(Invariant.I8, "a sweep finds " + swept.text().strip(), "after the end");
    } else {
      tally.checked(Invariant.I8, "after the end", List.of());
    }
  }
}
