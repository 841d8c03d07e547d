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
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with callers that use up its descriptors, all at once. */
@Timeout(300)
final class DaemonExhaustionAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(60));
  private static final int AT_ONCE = 50;

  /** More than fit into the larger number of descriptors. */
  private static final int BOXES_MOST = 500;

  private static final int ROUNDS = 3;

  private static final int ATTEMPTS = 12;

  /** With so many descriptors. */
  private static DaemonProcess daemon(int descriptors) {
    return new DaemonProcess(
        () -> List.of("prlimit", "--nofile=%d:%d".formatted(descriptors, descriptors)),
        // The order of locks is checked where assertions are enabled.
        Map.of("JDK_JAVA_OPTIONS", "-ea:dev.ebb..."));
  }

  @Nested
  @LeakChecked
  @Tag("kernel")
  final class Of220Descriptors {
    @RegisterExtension final DaemonProcess daemon = daemon(220);

    @Test
    void answersEveryone() throws Exception {
      requireAnswers(daemon);
    }

    @RepeatedTest(ATTEMPTS)
    @Tag("long")
    void answersEveryoneEachTime() throws Exception {
      requireAnswers(daemon);
    }
  }

  /** As many descriptors as the compose file allows. */
  @Nested
  @LeakChecked
  @Tag("kernel")
  final class Of1024Descriptors {
    @RegisterExtension final DaemonProcess daemon = daemon(1024);

    @RepeatedTest(ATTEMPTS)
    @Tag("long")
    void answersEveryoneEachTime() throws Exception {
      requireAnswers(daemon);
    }
  }

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

  /** All descriptors are wanted at once. */
  private static void requireAnswers(DaemonProcess daemon) throws Exception {
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
