package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Limits;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Commands that are ended through the daemon, seen from the host. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonKillAcceptanceTest {
  private static final Duration GRACE = Duration.ofMillis(700);
  private static final String STUBBORN = "trap '' TERM; echo ready; while :; do :; done";

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;
  private String box;
  private Execs execs;

  /** The processes below the daemon while no command runs. */
  private Set<Long> idle;

  @BeforeEach
  void makeABox() throws IOException {
    client = DAEMON.client();
    box = client.boxes().create(wide()).id();
    execs = client.execs(box);
    idle = HostProcesses.below(DAEMON.pid());
  }

  private static BoxRequest wide() {
    return BoxRequest.defaults().withLimits(new Limits(null, 400, null, null));
  }

  private Exec start(String script) throws IOException {
    return execs.start(ExecRequest.of("sh", "-c", script));
  }

  private Exec startReady(String script) throws IOException {
    Exec exec = start(script);
    awaitOutput(exec, "ready\n");
    return exec;
  }

  private void awaitOutput(Exec exec, String text) {
    await().atMost(DaemonProcess.PATIENCE).until(() -> output(exec).contains(text));
  }

  private String output(Exec exec) throws IOException {
    try (var out = execs.output(exec.number(), OutputStreamName.STDOUT, 0)) {
      return new String(out.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void awaitProcesses(int atLeast) {
    await().atMost(DaemonProcess.PATIENCE).until(() -> commands().size() >= atLeast);
  }

  /** Returns the processes in the box beside its own two. */
  private Set<Long> commands() {
    Set<Long> below = HostProcesses.below(DAEMON.pid());
    below.removeAll(idle);
    return below;
  }

  /** Init reaps the last of them a moment after they have left their cgroup. */
  private void assertNoCommand(String what) {
    await()
        .atMost(TestHost.patience(Duration.ofSeconds(5)))
        .untilAsserted(() -> assertThat(commands()).as(what).isEmpty());
  }

  private static void assertKilled(Exec exec) {
    assertThat(exec.state()).isEqualTo("ended");
    assertThat(exec.status()).isEqualTo("killed");
    assertThat(exec.pids()).isEmpty();
  }

  @Test
  void anUnknownIdIsNotFound() throws IOException {
    assertThatThrownBy(() -> execs.kill(77, GRACE)).isInstanceOf(NotFoundException.class);
    assertThatThrownBy(() -> client.execs("b0123456789ab").kill(1, GRACE))
        .isInstanceOf(NotFoundException.class);
    assertThatThrownBy(() -> client.boxes().killAll("nobody", GRACE))
        .isInstanceOf(NotFoundException.class);
    assertThat(client.boxes().killAll(box, GRACE)).isEmpty();
  }

  @Test
  void aFastCommandHasItsPidAndItsWholeLogAtOnce() throws IOException {
    for (int i = 0; i < 300; i++) {
      Exec started = execs.start(ExecRequest.of("echo", "line " + i));
      assertThat(started.document().has("pid")).as("pid of %d", i).isTrue();
      Exec ended = execs.await(started.number(), TestHost.patience(Duration.ofSeconds(20)));
      assertThat(ended.status()).as("status of %d", i).isEqualTo("exited");
      assertThat(ended.exitCode()).isZero();
      assertThat(output(ended)).isEqualTo("line " + i + "\n");
    }
    assertNoCommand("commands");
    assertThat(execs.list()).hasSizeLessThanOrEqualTo(101);
  }

  @Test
  void aTreeIsKilledWithAllItsBranches() throws IOException {
    var trees =
        List.of(
            new Tree("sleep 600 & wait", 2),
            new Tree("sh -c 'sh -c \"sleep 600 & wait\" & wait' & wait", 4),
            new Tree("i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i+1)); done; wait", 301));
    for (Tree tree : trees) {
      Exec exec = start(tree.script);
      awaitProcesses(tree.processes);
      assertThat(execs.inspect(exec.number()).pids()).hasSize(tree.processes);
      assertKilled(execs.kill(exec.number(), GRACE));
      assertNoCommand(tree.script);
    }
  }

  private record Tree(String script, int processes) {}

  @Test
  void aCommandThatIgnoresTermIsKilledAfterTheGrace() throws IOException {
    Exec exec = startReady(STUBBORN);
    long start = System.nanoTime();
    Exec killed = execs.kill(exec.number(), GRACE);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertKilled(killed);
    assertThat(killed.exitCode()).isEqualTo(137);
    assertThat(took).isBetween(GRACE, GRACE.plus(TestHost.patience(Duration.ofSeconds(5))));
    assertNoCommand("commands");
  }

  @Test
  void aCommandThatHeedsTermCanWriteDuringTheGrace() throws IOException {
    Exec exec = startReady("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.1; done");
    long start = System.nanoTime();
    Exec killed = execs.kill(exec.number(), Duration.ofSeconds(60));
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isLessThan(TestHost.patience(Duration.ofSeconds(30)));
    assertKilled(killed);
    assertThat(output(exec)).isEqualTo("ready\nbye\n");
  }

  @Test
  void killAllTakesOneGraceForAll() throws IOException {
    for (int i = 0; i < 4; i++) {
      startReady(STUBBORN.replace("do :;", "do sleep 1;"));
    }
    Duration grace = Duration.ofMillis(1500);
    long start = System.nanoTime();
    List<Exec> killed = client.boxes().killAll(box, grace);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertThat(killed).hasSize(4).allSatisfy(DaemonKillAcceptanceTest::assertKilled);
    assertThat(took).isBetween(grace, TestHost.patience(grace.multipliedBy(3)));
    assertNoCommand("commands");
  }

  @Test
  void noProcessEscapesByLeavingTheTree() throws IOException {
    String daemonised = "setsid sh -c 'setsid sleep 600 & setsid sleep 601 &' & wait; ";
    Exec exec = startReady(daemonised + "echo ready; sleep 600");
    awaitProcesses(4);
    assertKilled(execs.kill(exec.number(), GRACE));
    assertNoCommand("daemonised grandchildren");

    Exec left = execs.await(start("setsid sleep 600 & sleep 600 & exit 3").number());
    assertThat(left.exitCode()).isEqualTo(3);
    assertThat(requireNonNull(left.leftovers()).killed()).isEqualTo(2);
    assertNoCommand("children of a leader that exited");
  }

  @Test
  void forkingDuringTheKillDoesNotHelp() throws IOException {
    String forking =
        "trap '' TERM; echo ready; while :; do setsid sh -c 'trap \"\" TERM; sleep 5 & sleep 5' & sleep 0.02; done";
    for (int i = 0; i < 2; i++) {
      Exec exec = startReady(forking);
      awaitProcesses(10);
      assertKilled(execs.kill(exec.number(), Duration.ofMillis(200)));
      assertNoCommand("commands");
    }
  }

  @Test
  void killingWhatHasEndedAnswersHowItEnded() throws IOException {
    Exec ended = execs.await(start("exit 4").number());
    Exec killed = execs.kill(ended.number(), GRACE);
    assertThat(killed.status()).isEqualTo("exited");
    assertThat(killed.exitCode()).isEqualTo(4);
    for (int i = 0; i < 30; i++) {
      Exec ending = execs.kill(start("exit 5").number(), GRACE);
      assertThat(ending.hasEnded()).isTrue();
      assertThat(ending.status()).isIn("exited", "killed");
    }
    Exec exec = startReady("echo ready; sleep 600");
    var first = background(() -> execs.kill(exec.number(), GRACE));
    Exec second = execs.kill(exec.number(), GRACE);
    assertKilled(second);
    assertKilled(first.join());
    assertThat(execs.kill(exec.number(), GRACE).document()).isEqualTo(second.document());
  }

  private interface Call {
    Exec call() throws IOException;
  }

  private static CompletableFuture<Exec> background(Call call) {
    var result = new CompletableFuture<Exec>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                result.complete(call.call());
              } catch (IOException | RuntimeException e) {
                result.completeExceptionally(e);
              }
            });
    return result;
  }

  @Test
  void aForcedRemovalWaitsForNoCommand() throws IOException {
    startReady("trap '' TERM; echo ready; sleep 8");
    long start = System.nanoTime();
    assertThat(client.boxes().remove(box, true).clean()).isTrue();
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isLessThan(TestHost.patience(Duration.ofSeconds(7)));
    assertThat(HostProcesses.boxedBelow(DAEMON.pid())).isEmpty();
  }

  @Test
  void afterATimeoutTheNextCommandIsNotDelayed() throws IOException {
    var request = ExecRequest.of("sh", "-c", "trap '' TERM; sleep 600 & while :; do sleep 1; done");
    var slow = request.withTimeout(Duration.ofMillis(300)).withGrace(Duration.ofMillis(300));
    long begun = System.nanoTime();
    Exec exec = execs.run(slow).exec();
    assertThat(exec.status()).isEqualTo("timed-out");
    // By init, not by the engine, which would wait for that one for seconds.
    assertThat(Duration.ofNanos(System.nanoTime() - begun))
        .isBetween(Duration.ofMillis(600), TestHost.patience(Duration.ofSeconds(6)));
    assertNoCommand("commands");
    long start = System.nanoTime();
    assertThat(execs.run(ExecRequest.of("echo", "next")).stdout().text()).isEqualTo("next\n");
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isLessThan(TestHost.patience(Duration.ofSeconds(10)));
  }
}
