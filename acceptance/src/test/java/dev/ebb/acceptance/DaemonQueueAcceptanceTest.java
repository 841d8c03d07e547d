package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with such low alert levels that every caller that begins work has to queue. */
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class DaemonQueueAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(60));

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--pressure-warn=0.00001",
          "--pressure-alert=0.00002",
          "--pressure-full=99",
          "--pressure-wait=20s",
          "--pressure-queue=64");

  private static JsonObject admission(EbbClient client) throws IOException {
    return client.pressure().document().object("admission");
  }

  private static Duration timed(EbbClient client) throws IOException {
    long begun = System.nanoTime();
    client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    return Duration.ofNanos(System.nanoTime() - begun);
  }

  @Test
  void aFloodOfOneTenantDoesNotKeepAnotherWaiting() throws Exception {
    EbbClient admin = daemon.client();
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    EbbClient b = daemon.client(daemon.key("--tenant", "b"));
    timed(b);
    var over = new AtomicBoolean();
    Queue<Duration> flood = new ConcurrentLinkedQueue<>();
    var waits = new ArrayList<Duration>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 30; i++) {
        var _ =
            threads.submit(
                () -> {
                  while (!over.get()) {
                    flood.add(timed(a));
                  }
                  return null;
                });
      }
      await().atMost(PATIENCE).until(() -> admission(admin).number("waiting") >= 20);
      for (int i = 0; i < 20; i++) {
        waits.add(timed(b));
      }
      over.set(true);
    }
    List<Duration> sorted = waits.stream().sorted().toList();
    List<Duration> floodSorted = flood.stream().sorted().toList();
    Duration usual = floodSorted.get(floodSorted.size() / 2);
    System.out.printf(
        "queue: b p50 %d ms, slowest %d ms; a p50 %d ms%n",
        sorted.get(10).toMillis(), sorted.getLast().toMillis(), usual.toMillis());
    assertThat(sorted.get(10)).isLessThan(usual.dividedBy(2));
    assertThat(sorted.getLast()).isLessThan(usual.multipliedBy(2));
    assertThat(admission(admin).number("waiting")).isZero();
    assertThat(admission(admin).number("beginning")).isZero();
  }

  /** A caller that asks and hangs up leaves neither a box nor a place in the queue. */
  @Test
  void aCallerThatHangsUpLeavesNothing() throws Exception {
    EbbClient admin = daemon.client();
    String key = daemon.key("--tenant", "a");
    String body = "{\"exec\":{\"command\":[\"sleep\",\"30\"]}}";
    var sockets = new ArrayList<Socket>();
    for (int i = 0; i < 30; i++) {
      var socket = new Socket(daemon.uri().getHost(), daemon.uri().getPort());
      String request =
          "POST /v1/run HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(key, body.length(), body);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      sockets.add(socket);
    }
    await().atMost(PATIENCE).until(() -> admission(admin).number("waiting") > 0);
    for (Socket socket : sockets) {
      socket.close();
    }
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              assertThat(admission(admin).number("waiting")).isZero();
              assertThat(admission(admin).number("beginning")).isZero();
              assertThat(admin.boxes().list(BoxQuery.all())).isEmpty();
            });
    assertThat(admission(admin).object("refusals").number("left"))
        .as("callers that left before their turn, and for which nothing was made")
        .isPositive();
  }

  @Test
  void aFullQueueRefusesCleanly() throws Exception {
    EbbClient client = daemon.client();
    Queue<String> refusals = new ConcurrentLinkedQueue<>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 150; i++) {
        var _ =
            threads.submit(
                () -> {
                  try {
                    timed(client);
                  } catch (EbbException e) {
                    refusals.add(e.status() + " " + e.code() + " " + e.detail());
                  }
                  return null;
                });
      }
    }
    assertThat(refusals).isNotEmpty().allMatch(text -> text.startsWith("503 pressure "));
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    timed(client);
  }
}
