package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The end of a daemon, wanted or not, and what it needs until then. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonDrainAcceptanceTest {
  private static final Duration GRACE = Duration.ofSeconds(5);
  private static final int MOST_THREADS = 24;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** Calls {@code task} so often, a few at once. */
  private static void often(int count, Task task) throws Exception {
    try (var threads = Executors.newFixedThreadPool(8)) {
      List<Future<?>> all =
          IntStream.range(0, count)
              .<Future<?>>mapToObj(
                  i ->
                      threads.submit(
                          () -> {
                            task.run(i);
                            return true;
                          }))
              .toList();
      for (Future<?> each : all) {
        each.get();
      }
    }
  }

  private interface Task {
    void run(int number) throws Exception;
  }

  private static String problem(Callable<?> call) throws Exception {
    try {
      return String.valueOf(call.call());
    } catch (EbbException e) {
      return e.status() + " " + e.code();
    }
  }

  @Test
  void aTermEndsEveryBoxInTime() throws Exception {
    EbbClient client = daemon.client();
    often(
        50,
        i -> {
          client.boxes().create(BoxRequest.defaults().withName("b" + i));
          client.execs("b" + i).start(ExecRequest.of("sleep", "1000"));
        });
    // This one does not go before its grace is over, so there is a drain to look at.
    var stubborn =
        client
            .execs("b0")
            .start(
                ExecRequest.of("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs("b0").inspect(stubborn.number()).stdoutBytes() > 0);
    if (Feature.CGROUPS.isPresent()) {
      client.boxes().pause("b1");
    }
    long begun = System.nanoTime();
    ProcessHandle.of(daemon.pid()).orElseThrow().destroy();
    await().atMost(DaemonProcess.PATIENCE).until(() -> !client.isReady());
    assertThat(client.isAlive()).isTrue();
    assertThat(problem(() -> client.boxes().create(BoxRequest.defaults())))
        .isEqualTo("503 draining");
    assertThat(problem(() -> client.run(BoxRequest.defaults(), ExecRequest.of("true"))))
        .isEqualTo("503 draining");
    assertThat(daemon.stop()).isZero();
    assertThat(Duration.ofNanos(System.nanoTime() - begun))
        .isLessThan(GRACE.plus(TestHost.patience(Duration.ofSeconds(10))));
    assertThat(daemon.home().resolve("instances")).isEmptyDirectory();
  }

  @Test
  void aKilledDaemonTakesItsBoxesAlongAndTheNextCleansUp() throws Exception {
    EbbClient client = daemon.client();
    often(
        10,
        i -> {
          client.boxes().create(BoxRequest.defaults().withName("b" + i));
          client.execs("b" + i).start(ExecRequest.of("sleep", "1000"));
        });
    var second = daemon.ebb().call("serve");
    assertThat(second.code()).isEqualTo(125);
    assertThat(second.stderr())
        .contains("a daemon serves " + daemon.home() + " already, pid " + daemon.pid());
    assertThat(client.isReady()).isTrue();

    ProcessHandle first = ProcessHandle.of(daemon.pid()).orElseThrow();
    List<ProcessHandle> inits = HostProcesses.inits(daemon.pid());
    assertThat(inits).hasSize(10);
    first.destroyForcibly();
    first.onExit().get(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () -> {
              TestHost.reapOrphans();
              return inits.stream().noneMatch(ProcessHandle::isAlive);
            });
    daemon.start();
    EbbClient next = daemon.client();
    assertThat(next.boxes().list(BoxQuery.all())).allMatch(each -> each.state() == BoxState.GONE);
    try (var instances = java.nio.file.Files.list(daemon.home().resolve("instances"))) {
      assertThat(instances).as("of the next alone").hasSize(1);
    }
    next.boxes().create(BoxRequest.defaults().withName("b0"));
    next.boxes().remove("b0", true);
  }

  @Test
  void commandsAndWaitersCostNoThreads() throws Exception {
    EbbClient client = daemon.client();
    assertThat(daemon.threads()).isLessThanOrEqualTo(MOST_THREADS);
    client
        .boxes()
        .create(
            BoxRequest.defaults().withName("many").withLimits(new Limits(null, 1000, null, null)));
    often(200, i -> client.execs("many").start(ExecRequest.of("sleep", "1000")));
    assertThat(client.boxes().inspect("many").runningExecs()).isEqualTo(200);
    assertThat(daemon.threads()).isLessThanOrEqualTo(MOST_THREADS);
    assertThat(client.boxes().remove("many", true).clean()).isTrue();
  }

  @Test
  void whatHasEndedHoldsNoDescriptor() throws Exception {
    use(8, 2);
    int before = settled();
    use(1000, 10);
    assertThat(settled()).isLessThanOrEqualTo(before);
  }

  @Test
  @Tag("long")
  void twoHundredBoxesHoldNoDescriptorAfterwards() throws Exception {
    use(8, 8);
    int before = settled();
    EbbClient client = daemon.client();
    often(200, i -> client.boxes().create(BoxRequest.defaults().withName("b" + i)));
    assertThat(daemon.threads()).isLessThanOrEqualTo(MOST_THREADS);
    assertThat(daemon.descriptors()).isGreaterThan(before);
    often(200, i -> assertThat(client.boxes().remove("b" + i, true).clean()).isTrue());
    client.close();
    assertThat(settled()).isLessThanOrEqualTo(before);
  }

  /** So many commands in so many boxes, which are gone afterwards, as are the connections. */
  private void use(int execs, int boxes) throws Exception {
    try (EbbClient client = daemon.client()) {
      use(client, execs, boxes);
    }
  }

  private static void use(EbbClient client, int execs, int boxes) throws Exception {
    often(boxes, i -> client.boxes().create(BoxRequest.defaults().withName("b" + i)));
    often(
        execs,
        i -> {
          var result = client.execs("b" + i % boxes).run(ExecRequest.of("echo", "" + i));
          assertThat(result.stdout().text()).isEqualTo(i + "\n");
        });
    often(boxes, i -> assertThat(client.boxes().remove("b" + i, true).clean()).isTrue());
  }

  /** Descriptors once two looks agree: connections close in their own time. */
  private int settled() {
    int[] last = {-1};
    await()
        .atMost(DaemonProcess.PATIENCE)
        .pollInterval(Duration.ofMillis(200))
        .until(
            () -> {
              int now = daemon.descriptors();
              boolean same = now == last[0];
              last[0] = now;
              return same;
            });
    return last[0];
  }
}
