package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that was stopped for a while reports correctly what happened meanwhile. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonStoppedAcceptanceTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** More than the timeout and all that the engine waits for init after it. */
  private static final Duration LONG_STOP = Duration.ofMillis(10_500);

  private static final int BOXES = 6;
  private static final int EXECS_OF_BOX = 20;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private void stopFor(Duration time) throws IOException, InterruptedException {
    signal("STOP");
    try {
      Thread.sleep(time);
    } finally {
      signal("CONT");
    }
  }

  private void signal(String name) throws IOException, InterruptedException {
    String pid = Long.toString(daemon.pid());
    assertThat(new ProcessBuilder("kill", "-s", name, pid).inheritIO().start().waitFor()).isZero();
  }

  private static <T> CompletableFuture<T> aside(Callable<T> call) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return call.call();
          } catch (Exception e) {
            throw new CompletionException(e);
          }
        },
        task -> Thread.ofVirtual().start(task));
  }

  /** Ends by itself, well within the time of {@link #TIMEOUT}, while the daemon is stopped. */
  private static ExecRequest brief() {
    return ExecRequest.of("sh", "-c", "sleep 1.2; echo done")
        .withTimeout(TIMEOUT)
        .withGrace(Duration.ZERO);
  }

  private static void assertDone(Exec exec) {
    assertThat(exec.exitCode()).as(exec.document().toString()).isZero();
    assertThat(exec.status()).isEqualTo("exited");
    assertThat(exec.duration()).isLessThan(LONG_STOP);
  }

  /** Commands that ended in time are reported so, and deadlines are extended by the stop. */
  @Test
  @Tag("long")
  void nothingIsOutOfTimeForAStopOfTheDaemon() throws Exception {
    EbbClient client = daemon.client();
    Duration life = Duration.ofSeconds(8);
    String mortal = client.boxes().create(BoxRequest.defaults().withTtl(life)).id();
    Instant expiry = requireNonNull(client.boxes().inspect(mortal).expiresAt());
    String idle = client.boxes().create(BoxRequest.defaults().withIdleTimeout(life)).id();
    var context = client.boxes().create(BoxRequest.defaults()).id();
    String python = client.contexts(context).create(ContextRequest.of("python")).id();
    client.contexts(context).run(python, CellRequest.of("import time"));
    var boxes = new ArrayList<String>();
    for (int i = 0; i < BOXES; i++) {
      boxes.add(client.boxes().create(BoxRequest.defaults()).id());
    }

    var cell =
        aside(
            () ->
                client
                    .contexts(context)
                    .run(python, CellRequest.of("time.sleep(1)").withTimeout(TIMEOUT)));
    var running = new ArrayList<CompletableFuture<Exec>>();
    for (String box : boxes) {
      Execs execs = client.execs(box);
      for (int i = 0; i < EXECS_OF_BOX; i++) {
        long number = execs.start(brief()).number();
        running.add(aside(() -> execs.await(number, Duration.ofSeconds(5))));
      }
    }
    Execs stubborn = client.execs(context);
    long polite =
        stubborn
            .start(ExecRequest.of("sh", "-c", "trap 'sleep 0.5; exit 7' TERM; sleep 1000 & wait"))
            .number();
    var killed = aside(() -> stubborn.kill(polite, Duration.ofSeconds(2)));
    stopFor(LONG_STOP);

    for (var each : running) {
      assertDone(each.get());
    }
    CellResult result = cell.get();
    assertThat(result.outcome()).as(result.document().toString()).isEqualTo("ok");
    assertThat(killed.get().exitCode()).as(killed.get().document().toString()).isEqualTo(7);
    assertThat(client.boxes().inspect(mortal).state()).isEqualTo(BoxState.RUNNING);
    assertThat(client.boxes().inspect(mortal).expiresAt()).isAfter(expiry.plus(life));
    assertThat(client.boxes().inspect(idle).state()).isEqualTo(BoxState.RUNNING);
    for (String box : List.of(mortal, idle)) {
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> client.boxes().inspect(box).state() == BoxState.GONE);
    }
    for (String box : boxes) {
      assertThat(client.boxes().remove(box, true).clean()).isTrue();
    }
    client.boxes().remove(context, true);
  }

  /** A short stop, which only the time to live and the idle timeout are shorter than. */
  @Test
  void aBoxHasTheRestOfItsTimeAfterAStop() throws Exception {
    EbbClient client = daemon.client();
    Duration life = Duration.ofSeconds(3);
    Box mortal = client.boxes().create(BoxRequest.defaults().withTtl(life));
    Instant expiry = requireNonNull(mortal.expiresAt());
    Box idle = client.boxes().create(BoxRequest.defaults().withIdleTimeout(life));
    Execs execs = client.execs(mortal.id());
    long number = execs.start(ExecRequest.of("sleep", "1")).number();
    stopFor(Duration.ofSeconds(4));
    assertThat(client.boxes().inspect(mortal.id()).state()).isEqualTo(BoxState.RUNNING);
    assertThat(client.boxes().inspect(mortal.id()).expiresAt()).isAfter(expiry.plusSeconds(2));
    assertThat(client.boxes().inspect(idle.id()).state()).isEqualTo(BoxState.RUNNING);
    assertThat(execs.inspect(number).exitCode()).isZero();
    for (Box box : List.of(mortal, idle)) {
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> client.boxes().inspect(box.id()).state() == BoxState.GONE);
    }
    assertThat(client.boxes().inspect(mortal.id()).endedBy()).isEqualTo("ttl");
    assertThat(client.boxes().inspect(idle.id()).endedBy()).isEqualTo("idle");
  }

  /** Init knows when it was. */
  @Test
  void whatEndedWithoutADaemonHasItsTrueTime() throws Exception {
    EbbClient client = daemon.client();
    String box = client.boxes().create(BoxRequest.defaults().withDetached()).id();
    long number = client.execs(box).start(ExecRequest.of("sleep", "1")).number();
    Instant startedAt = client.execs(box).inspect(number).startedAt();
    daemon.kill();
    Thread.sleep(Duration.ofSeconds(3));
    Instant before = Instant.now();
    daemon.start();
    EbbClient next = daemon.client();
    Exec ended = next.execs(box).await(number);
    assertThat(ended.exitCode()).isZero();
    assertThat(ended.duration())
        .isBetween(Duration.ofMillis(990), Duration.between(startedAt, before));
    assertThat(ended.endedAt()).isBetween(startedAt.plusMillis(990), before);
    assertThat(daemon.stop()).isZero();
    daemon.start();
    Exec again = daemon.client().execs(box).inspect(number);
    assertThat(again.duration()).as("by its record").isEqualTo(ended.duration());
    assertThat(again.endedAt()).isEqualTo(ended.endedAt());
    assertThat(daemon.client().boxes().remove(box, true).clean()).isTrue();
  }

  /** A connection that has shown no key is closed when it is idle for 5 s; these are not. */
  @Test
  @Tag("long")
  void aRequestThatArrivedDuringTheStopIsAnswered() throws Exception {
    byte[] request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII);
    try (var sockets = new Sockets()) {
      for (int i = 0; i < 20; i++) {
        Socket socket = sockets.open(daemon.uri());
        socket.getOutputStream().write(request);
        assertThat(status(socket)).isEqualTo("HTTP/1.1 200 OK");
      }
      signal("STOP");
      try {
        Thread.sleep(Duration.ofSeconds(6));
        for (Socket socket : sockets.all()) {
          socket.getInputStream().skipNBytes(socket.getInputStream().available());
          socket.getOutputStream().write(request);
        }
      } finally {
        signal("CONT");
      }
      for (Socket socket : sockets.all()) {
        assertThat(status(socket)).isEqualTo("HTTP/1.1 200 OK");
      }
    }
  }

  private static String status(Socket socket) throws IOException {
    var line = new StringBuilder();
    for (int c = socket.getInputStream().read(); c > '\r'; c = socket.getInputStream().read()) {
      line.append((char) c);
    }
    return line.toString();
  }

  /** Closes what it opened. */
  private static final class Sockets implements AutoCloseable {
    private final List<Socket> all = new ArrayList<>();

    Socket open(URI uri) throws IOException {
      var socket = new Socket(uri.getHost(), uri.getPort());
      all.add(socket);
      socket.setSoTimeout((int) DaemonProcess.PATIENCE.toMillis());
      return socket;
    }

    List<Socket> all() {
      return all;
    }

    @Override
    public void close() throws IOException {
      for (Socket socket : all) {
        socket.close();
      }
    }
  }
}
