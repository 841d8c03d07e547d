package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Result;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that may have 300 processes and threads, as in a small container. */
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class DaemonPressureAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(90));
  private static final int CONCURRENCY = 40;

  private static final String TREE =
      "for i in 1 2 3 4; do (setsid sleep 1000 &); done; trap '' TERM; sleep 1000";
  private static final String BOMB = "bomb() { bomb | bomb & }; bomb; sleep 1000";

  @RegisterExtension
  @Order(1)
  final PidsCgroup pids = new PidsCgroup(300);

  @RegisterExtension
  @Order(2)
  final DaemonProcess daemon = new DaemonProcess(pids::runner, Map.of());

  private final Queue<String> levels = new ConcurrentLinkedQueue<>();

  private void listen(BoxEvents events) {
    try {
      while (true) {
        BoxEvent event = events.next();
        if (event.kind().equals("pressure") && event.document().string("resource").equals("pids")) {
          levels.add(event.document().string("level"));
        }
      }
    } catch (IOException e) {
      // The client was closed.
    }
  }

  private static BoxRequest small() {
    return BoxRequest.defaults().withLimits(new Limits(64L << 20, 128, null, null));
  }

  /** How one run ended: by its status, or by the code of its refusal. */
  private static String run(EbbClient client, int number) throws IOException {
    String script = number % 10 == 0 ? BOMB : number % 3 == 0 ? TREE : "echo hello";
    ExecRequest exec =
        ExecRequest.of("bash", "-c", script)
            .withTimeout(Duration.ofMillis(700))
            .withGrace(Duration.ofMillis(50));
    try {
      Result result = client.runAndRelease(small(), exec);
      assertThat(Objects.requireNonNull(result.certificate()).clean()).isTrue();
      return script.equals("echo hello") || result.exec().status() == null
          ? String.valueOf(result.exec().status())
          : "mess " + result.exec().status();
    } catch (EbbException e) {
      return e.status() + " " + e.code() + (e.code().equals("pressure") ? "" : " " + e.detail());
    }
  }

  @Test
  void messesAndBombsAreServedOrRefusedCleanly() throws Exception {
    storm(150);
  }

  @Test
  @Tag("long")
  @Timeout(3600)
  void aThousandMessesAndBombsAreServedOrRefusedCleanly() throws Exception {
    storm(1000);
  }

  private void storm(int runs) throws Exception {
    EbbClient client = daemon.client();
    // A warm-up: this many runs at once start all carrier threads that will ever be needed.
    assertServedOrRefused(runAll(client, CONCURRENCY, 1));
    int idle = awaitIdle();
    BoxEvents events = client.events();
    Thread listener = Thread.ofVirtual().name("listener").start(() -> listen(events));
    var outcomes = runAll(client, runs, 0);
    System.out.println("300 PIDs, " + runs + " runs: " + outcomes + ", idle " + idle);
    assertServedOrRefused(outcomes);
    await().atMost(PATIENCE).until(() -> pids.current() <= idle);
    await().atMost(PATIENCE).until(() -> client.pressure().level().equals("ok"));
    assertThat(HostProcesses.zombiesBelow(daemon.process().pid())).isEmpty();
    assertThat(client.run(small(), ExecRequest.of("echo", "1")).stdout().text()).isEqualTo("1\n");
    await().atMost(PATIENCE).until(() -> levels.contains("ok"));
    System.out.println("events: " + levels);
    assertThat(List.copyOf(levels)).containsSubsequence("warn", "alert", "cleanup", "ok");
    events.close();
    listener.join();
  }

  private static Map<String, Integer> runAll(EbbClient client, int runs, int kind)
      throws Exception {
    var outcomes = new TreeMap<String, Integer>();
    try (var threads =
        Executors.newFixedThreadPool(CONCURRENCY, Thread.ofVirtual().name("run").factory())) {
      var all = new ArrayList<Future<String>>();
      for (int i = 0; i < runs; i++) {
        int number = kind == 0 ? i : kind;
        all.add(threads.submit(() -> run(client, number)));
      }
      for (Future<String> each : all) {
        outcomes.merge(each.get(), 1, Integer::sum);
      }
    }
    return outcomes;
  }

  private static void assertServedOrRefused(Map<String, Integer> outcomes) {
    assertThat(outcomes.keySet())
        .isSubsetOf(
            "exited",
            "mess exited",
            "mess timed-out",
            "mess signalled",
            "timed-out",
            "503 pressure");
    assertThat(outcomes).containsKey("exited");
  }

  /**
   * Waits until the number of processes is constant for some seconds, so that no request is under
   * way.
   */
  private int awaitIdle() throws Exception {
    var last = new AtomicInteger();
    await()
        .during(Duration.ofSeconds(5))
        .atMost(PATIENCE)
        .until(
            () -> {
              int now = pids.current();
              return last.getAndSet(now) == now;
            });
    return last.get();
  }

  /** Forks until fork fails, again and again, until its stdin ends. */
  private static final String FILLER =
      """
      import os, select, signal, sys
      children = []
      while not select.select([sys.stdin], [], [], 0.02)[0]:
          try:
              while True:
                  pid = os.fork()
                  if pid == 0:
                      signal.pause()
                  children.append(pid)
          except OSError:
              print("full", flush=True)
      for pid in children:
          os.kill(pid, 9)
      for pid in children:
          os.waitpid(pid, 0)
      """;

  @Test
  void whenOthersTakeEveryPidKillsWorkAndRefusalsAreClean() throws Exception {
    EbbClient client = daemon.client();
    Box box = client.boxes().create(small());
    Exec exec = client.execs(box.id()).start(ExecRequest.of("bash", "-c", TREE));
    Box other = client.boxes().create(small());
    client.execs(other.id()).start(ExecRequest.of("sleep", "1000"));
    var words = new ArrayList<>(pids.filler());
    words.addAll(List.of("python3", "-c", FILLER));
    Process filler = new ProcessBuilder(words).redirectErrorStream(true).start();
    try {
      assertThat(filler.inputReader().readLine()).isEqualTo("full");
      assertThat(pids.current()).isGreaterThanOrEqualTo(295);
      assertRefused(client);
      assertThat(client.boxes().inspect(box.id()).id()).isEqualTo(box.id());
      Exec killed = client.execs(box.id()).kill(exec.number(), Duration.ZERO);
      assertThat(killed.status()).isEqualTo("killed");
      assertThat(client.boxes().remove(box.id(), true).clean()).isTrue();
      assertThat(client.boxes().remove(other.id(), true).clean()).isTrue();
      assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status()).isEqualTo(200);
      assertRefused(client);
    } finally {
      filler.getOutputStream().close();
      assertThat(filler.waitFor(30, TimeUnit.SECONDS)).isTrue();
    }
    await().atMost(PATIENCE).until(() -> client.pressure().level().equals("ok"));
    assertThat(client.run(small(), ExecRequest.of("echo", "1")).stdout().text()).isEqualTo("1\n");
  }

  private static void assertRefused(EbbClient client) {
    EbbException refusal =
        catchThrowableOfType(EbbException.class, () -> client.run(small(), ExecRequest.of("true")));
    assertThat(refusal.status()).isEqualTo(503);
    assertThat(refusal.code()).isEqualTo("pressure");
    assertThat(refusal.detail()).contains("pids ").contains("of 300").contains("pids.max");
    assertThat(refusal.retryAfter()).isPositive();
  }
}
