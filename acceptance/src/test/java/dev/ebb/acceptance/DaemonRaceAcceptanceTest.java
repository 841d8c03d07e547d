package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.ConflictException;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Holding;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many callers at once, and boxes that end by themselves. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonRaceAcceptanceTest {
  private static final long SEED = 20261116;
  private static final int THREADS = 16;
  private static final int OPERATIONS = 2000;
  private static final int NAMES = 20;

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  /** Runs all at the same moment; returns the result of each. */
  private static <T> List<T> atOnce(int count, Callable<T> call) throws Exception {
    var go = new CountDownLatch(1);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<T>> all =
          IntStream.range(0, count)
              .mapToObj(
                  i ->
                      threads.submit(
                          () -> {
                            go.await();
                            return call.call();
                          }))
              .toList();
      go.countDown();
      var results = new ArrayList<T>();
      for (Future<T> each : all) {
        results.add(each.get());
      }
      return results;
    }
  }

  /** The box, or the word for what was wrong. */
  private static String outcome(Callable<Box> call) throws Exception {
    try {
      return call.call().id();
    } catch (EbbException e) {
      return e.code();
    }
  }

  @Test
  void oneOfManyGetsTheName() throws Exception {
    EbbClient client = DAEMON.client();
    BoxRequest request = BoxRequest.defaults().withName("one");
    var outcomes = atOnce(100, () -> outcome(() -> client.boxes().create(request)));
    String winner = client.boxes().inspect("one").id();
    assertThat(outcomes).containsOnlyOnce(winner);
    assertThat(outcomes.stream().filter("conflict"::equals)).hasSize(99);
    assertThat(client.boxes().list(BoxQuery.all())).extracting(Box::id).containsExactly(winner);
    assertThat(onTheHost()).hasSize(1);
    assertThat(client.boxes().remove("one", true).clean()).isTrue();
  }

  /** The pid 1s of the daemon's boxes. */
  private List<ProcessHandle> onTheHost() {
    return HostProcesses.inits(DAEMON.pid());
  }

  @Test
  void anIdempotencyKeyMakesOneBoxHoweverOftenItIsUsed() throws Exception {
    EbbClient client = DAEMON.client();
    BoxRequest request = BoxRequest.defaults().withFile("a", Output.of("a".repeat(100_000)));
    var outcomes =
        atOnce(
            20,
            () ->
                outcome(
                    () -> {
                      Box box = client.boxes().create(request, "key");
                      // A client that sees the box finds it whole.
                      assertThat(client.files(box.id()).stat("a").sizeBytes()).isEqualTo(100_000);
                      return box;
                    }));
    String id = outcomes.getFirst();
    assertThat(outcomes).hasSize(20).containsOnly(id);
    assertThat(client.boxes().list(BoxQuery.all())).extracting(Box::id).containsExactly(id);
    assertThat(onTheHost()).hasSize(1);
    BoxRequest other = request.withLabel("a", "b");
    assertThat(outcome(() -> client.boxes().create(other, "key"))).isEqualTo("conflict");
    assertThat(client.boxes().create(other, "other").id()).isNotEqualTo(id);

    // A failed creation leaves nothing, and its key is free again.
    BoxRequest impossible = BoxRequest.defaults().withName("n").withFile("/proc/a", Output.of(""));
    for (int i = 0; i < 3; i++) {
      var failed = atOnce(5, () -> outcome(() -> client.boxes().create(impossible, "third")));
      assertThat(failed).allMatch(List.of("not-found", "forbidden", "conflict")::contains);
    }
    assertThat(client.boxes().list(BoxQuery.all())).hasSize(2);
    BoxRequest possible = BoxRequest.defaults().withName("n");
    assertThat(client.boxes().create(possible, "third").name()).isEqualTo("n");
    assertThat(onTheHost()).hasSize(3);
  }

  @Test
  void aStormOfOperationsLeavesEveryBoxInOneStateAndNothingBehind() throws Exception {
    EbbClient client = DAEMON.client();
    var left = new AtomicInteger(OPERATIONS);
    var refused = new AtomicInteger();
    var seeds = new AtomicInteger();
    atOnce(
        THREADS,
        () -> {
          var random = new Random(SEED + seeds.getAndIncrement());
          while (left.getAndDecrement() > 0) {
            try {
              operate(client, random, "n" + random.nextInt(NAMES));
            } catch (NotFoundException | ConflictException e) {
              refused.incrementAndGet();
            } catch (EbbException e) {
              throw new AssertionError(e.status() + " " + e.code() + ": " + e.detail(), e);
            }
          }
          return true;
        });
    assertThat(refused.get()).isBetween(1, OPERATIONS - 100);
    for (Box box : client.boxes().list(BoxQuery.all())) {
      assertThat(box.state()).isIn(BoxState.RUNNING, BoxState.PAUSED, BoxState.GONE);
      assertThat(client.boxes().stop(box.id(), Duration.ZERO).state()).isEqualTo(BoxState.GONE);
      for (var exec : client.execs(box.id()).list()) {
        assertThat(client.execs(box.id()).await(exec.number()).hasEnded()).isTrue();
      }
      assertThat(client.boxes().remove(box.id(), false).clean()).isTrue();
    }
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    assertThat(onTheHost()).isEmpty();
  }

  private static void operate(EbbClient client, Random random, String name) throws IOException {
    switch (random.nextInt(12)) {
      case 0, 1, 2 -> client.boxes().create(BoxRequest.defaults().withName(name));
      case 3 -> client.execs(name).start(ExecRequest.of("true"));
      case 4, 5 -> client.execs(name).start(ExecRequest.of("sleep", "1000"));
      case 6 -> client.boxes().killAll(name, Duration.ZERO);
      case 7, 8 -> {
        // Without cgroups no box can be paused.
        if (!Feature.CGROUPS.isPresent()) {
          client.boxes().inspect(name);
        } else if (random.nextBoolean()) {
          client.boxes().pause(name);
        } else {
          client.boxes().resume(name);
        }
      }
      case 9 -> client.boxes().stop(name, Duration.ofMillis(random.nextInt(100)));
      case 10 -> client.boxes().remove(name, random.nextBoolean());
      default -> client.boxes().inspect(name);
    }
  }

  @Test
  void timeEndsABoxButNotWhileItWorks() throws Exception {
    EbbClient client = DAEMON.client();
    BoxRequest plain = BoxRequest.defaults();
    Duration second = Duration.ofSeconds(1);
    client.boxes().create(plain.withName("ttl").withTtl(second.multipliedBy(5)));
    client.execs("ttl").start(ExecRequest.of("sleep", "1000"));
    Duration soon = second.multipliedBy(3);
    client.boxes().create(plain.withName("idle").withIdleTimeout(soon));
    client.boxes().create(plain.withName("busy").withIdleTimeout(soon));
    client.boxes().create(plain.withName("fed").withIdleTimeout(soon));
    var working = client.execs("busy").start(ExecRequest.of("sleep", "7"));
    // An upload is work too, however slow.
    client.files("fed").write("slow", new Slow(14, Duration.ofMillis(500)), "644");
    assertThat(client.files("fed").stat("slow").sizeBytes()).isEqualTo(14);
    assertThat(client.execs("busy").await(working.number()).exitCode()).isZero();
    for (String name : List.of("ttl", "idle", "busy", "fed")) {
      await().atMost(DaemonProcess.PATIENCE).until(() -> state(client, name) == BoxState.GONE);
      Box box = client.boxes().inspect(name);
      assertThat(box.endedBy()).isEqualTo(name.equals("ttl") ? "ttl" : "idle");
      assertThat(Objects.requireNonNull(box.certificate()).clean()).isTrue();
    }
    assertThat(onTheHost()).isEmpty();
  }

  private static BoxState state(EbbClient client, String name) throws IOException {
    return client.boxes().inspect(name).state();
  }

  /** Bytes at long intervals. */
  private static final class Slow extends InputStream {
    private final Duration interval;
    private int left;

    Slow(int count, Duration interval) {
      left = count;
      this.interval = interval;
    }

    @Override
    public int read() throws IOException {
      try {
        TimeUnit.NANOSECONDS.sleep(interval.toNanos());
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      return left-- > 0 ? 'a' : -1;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int one = read();
      bytes[offset] = (byte) one;
      return one < 0 ? -1 : 1;
    }
  }

  @Test
  void aPausedBoxStandsStillAndCanBeEndedInEveryWay() throws Exception {
    TestHost.require(Feature.CGROUPS);
    EbbClient client = DAEMON.client();
    var ticker = ExecRequest.of("sh", "-c", "while :; do echo tick; sleep 0.01; done");
    for (String name : List.of("resumed", "killed", "stopped", "removed")) {
      client.boxes().create(BoxRequest.defaults().withName(name));
      client.execs(name).start(ticker);
      await().atMost(DaemonProcess.PATIENCE).until(() -> written(client, name) > 0);
      assertThat(client.boxes().pause(name).state()).isEqualTo(BoxState.PAUSED);
      // Output that was in the pipe when the command froze still arrives.
      await().atMost(DaemonProcess.PATIENCE).until(() -> isQuiet(client, name));
    }
    long before = written(client, "resumed");
    assertThat(outcomeOf(() -> client.execs("resumed").start(ticker))).isEqualTo("wrong-state");
    assertThat(outcomeOf(() -> client.files("resumed").list("/"))).isEqualTo("wrong-state");
    assertThat(client.boxes().resume("resumed").state()).isEqualTo(BoxState.RUNNING);
    await().atMost(DaemonProcess.PATIENCE).until(() -> written(client, "resumed") > before);
    client.boxes().remove("resumed", true);

    var killed = client.execs("killed").kill(1, Duration.ofMillis(100));
    assertThat(killed.hasEnded()).isTrue();
    assertThat(state(client, "killed")).isEqualTo(BoxState.PAUSED);
    client.boxes().resume("killed");
    assertThat(client.execs("killed").run(ExecRequest.of("true")).exec().exitCode()).isZero();
    client.boxes().remove("killed", true);

    Box stopped = client.boxes().stop("stopped", Duration.ofSeconds(5));
    assertThat(stopped.state()).isEqualTo(BoxState.GONE);
    assertThat(stopped.endedBy()).isEqualTo("request");
    assertThat(client.execs("stopped").inspect(1).hasEnded()).isTrue();
    assertThat(outcomeOf(() -> client.boxes().remove("removed", false))).isEqualTo("wrong-state");
    assertThat(client.boxes().remove("removed", true).clean()).isTrue();
    assertThat(onTheHost()).isEmpty();
  }

  private static String outcomeOf(Callable<?> call) throws Exception {
    try {
      return String.valueOf(call.call());
    } catch (EbbException e) {
      return e.code();
    }
  }

  private static long written(EbbClient client, String box) throws IOException {
    return client.execs(box).inspect(1).stdoutBytes();
  }

  /** Lasts ten ticks. */
  private static boolean isQuiet(EbbClient client, String box) throws Exception {
    long before = written(client, box);
    TimeUnit.MILLISECONDS.sleep(100);
    return written(client, box) == before;
  }

  @Test
  void aBoxWithAKilledInitHasDiedAndItsCommandIsLost() throws Exception {
    EbbClient client = DAEMON.client();
    client.boxes().create(BoxRequest.defaults().withName("doomed"));
    client.execs("doomed").start(ExecRequest.of("sh", "-c", "echo ready; exec sleep 1000"));
    await().atMost(DaemonProcess.PATIENCE).until(() -> written(client, "doomed") > 0);
    assertThat(client.boxes().inspect("doomed").holdings())
        .extracting(Holding::kind)
        .contains("process", Feature.CGROUPS.isPresent() ? "cgroup" : "directory");
    assertThat(onTheHost()).singleElement().matches(ProcessHandle::destroyForcibly);
    await().atMost(DaemonProcess.PATIENCE).until(() -> state(client, "doomed") == BoxState.GONE);
    Box box = client.boxes().inspect("doomed");
    assertThat(box.endedBy()).isEqualTo("died");
    assertThat(Objects.requireNonNull(box.certificate()).clean()).isTrue();
    var exec = client.execs("doomed").await(1);
    assertThat(Objects.requireNonNull(exec.cause()).kind()).isEqualTo("lost");
    try (var output = client.execs("doomed").output(1, OutputStreamName.STDOUT, 0)) {
      assertThat(new String(output.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8))
          .isEqualTo("ready\n");
    }
    assertThat(outcomeOf(() -> client.execs("doomed").start(ExecRequest.of("true"))))
        .isEqualTo("wrong-state");
    client.boxes().remove("doomed", false);
  }
}
