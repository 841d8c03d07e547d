package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon whose callers use up its descriptors, all at once. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonExhaustionAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(60));
  private static final int AT_ONCE = 50;
  private static final int BOXES_MOST = 40;
  private static final int ROUNDS = 3;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          () -> List.of("prlimit", "--nofile=220:220"),
          // The order of locks is checked where assertions are enabled.
          Map.of("JDK_JAVA_OPTIONS", "-ea:dev.ebb..."));

  /** Creates boxes until the daemon refuses one. */
  private static List<Box> fill(EbbClient client) throws IOException, InterruptedException {
    var boxes = new ArrayList<Box>();
    try {
      while (boxes.size() < BOXES_MOST) {
        boxes.add(client.boxes().create(BoxRequest.defaults()));
      }
    } catch (EbbException e) {
      assertThat(e.status()).as(e.detail()).isEqualTo(503);
    }
    return boxes;
  }

  private static int status(Callable<?> call) throws Exception {
    try {
      var _ = call.call();
      return 200;
    } catch (EbbException e) {
      return e.status();
    }
  }

  @Test
  void everyoneIsAnsweredWhenAllDescriptorsAreWantedAtOnce() throws Exception {
    EbbClient client = daemon.client();
    List<Box> boxes = fill(client);
    assertThat(boxes).hasSizeGreaterThan(1);
    Box busy = boxes.getFirst();
    Exec sleeper = client.execs(busy.id()).start(ExecRequest.of("sleep", "1000"));
    ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
    try {
      for (int round = 0; round < ROUNDS; round++) {
        var answers = new ArrayList<Future<Integer>>();
        for (int i = 0; i < AT_ONCE; i++) {
          Box box = boxes.get(i % boxes.size());
          answers.add(
              callers.submit(
                  () -> status(() -> client.execs(box.id()).run(ExecRequest.of("true")))));
        }
        for (Future<Integer> answer : answers) {
          assertThat(answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isIn(200, 503);
        }
        assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status()).isEqualTo(200);
      }
    } finally {
      // A daemon that does not answer must not keep the test.
      callers.shutdownNow();
    }
    assertThat(client.execs(busy.id()).kill(sleeper.number(), Duration.ZERO).status())
        .isEqualTo("killed");
    for (Box box : boxes) {
      assertThat(client.boxes().remove(box.id(), true).clean()).isTrue();
    }
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                status(() -> client.run(BoxRequest.defaults(), ExecRequest.of("echo", "1")))
                    == 200);
    // The extension ends the daemon by SIGTERM, and expects it to exit with 0.
  }
}
