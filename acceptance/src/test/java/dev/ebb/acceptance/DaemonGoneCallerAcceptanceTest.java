package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.Execs;
import dev.ebb.client.OutputStreamName;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Callers that hang up on a command that they wait for. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonGoneCallerAcceptanceTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  /** Says good-bye when it is asked to end, and ends in its own way. */
  private static final String POLITE =
      "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.1; done";

  private static final String JSON = "application/json";
  private static final String EVENTS = "text/event-stream";

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;
  private String key;
  private String box;
  private Execs execs;

  @BeforeEach
  void makeABox() throws Exception {
    client = DAEMON.client();
    key = DAEMON.key();
    box = client.boxes().create(BoxRequest.defaults()).id();
    execs = client.execs(box);
  }

  private List<SocketAddress> doors() throws IOException {
    return List.of(
        UnixDomainSocketAddress.of(DAEMON.home().resolve("ebb.sock")),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), DAEMON.uri().getPort()));
  }

  /** A request on a connection of its own, to hang up on. */
  private SocketChannel post(SocketAddress door, String target, JsonObject body, String accept)
      throws IOException {
    byte[] content = Json.write(body).getBytes(StandardCharsets.UTF_8);
    String head =
        "POST "
            + target
            + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            + key
            + "\r\nAccept: "
            + accept
            + "\r\nContent-Type: application/json\r\nContent-Length: "
            + content.length
            + "\r\n\r\n";
    SocketChannel channel = SocketChannel.open(door);
    channel.write(ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
    channel.write(ByteBuffer.wrap(content));
    return channel;
  }

  private static JsonObject command(String script) {
    return JsonObject.empty().with("command", List.of("sh", "-c", script));
  }

  private String execs() {
    return "/v1/boxes/" + box + "/execs";
  }

  /** The command that was started last, when it is under way. */
  private Exec awaitReady(long after) {
    await().atMost(SOON).until(() -> last() > after && output(last()).contains("ready\n"));
    try {
      return execs.inspect(last());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private long last() throws IOException {
    return execs.list().stream().mapToLong(Exec::number).max().orElse(0);
  }

  private String output(long number) throws IOException {
    try (var out = execs.output(number, OutputStreamName.STDOUT, 0)) {
      return new String(out.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void aCallerThatHangsUpEndsItsCommand() throws Exception {
    for (SocketAddress door : doors()) {
      for (String accept : List.of(JSON, EVENTS)) {
        long before = last();
        Exec exec;
        try (var _ = post(door, execs() + "?wait=true", command(POLITE), accept)) {
          exec = awaitReady(before);
        }
        Exec ended = execs.await(exec.number(), SOON);
        assertThat(ended.status()).as("%s %s", door, accept).isEqualTo("killed");
        assertThat(ended.exitCode()).isEqualTo(9);
        assertThat(output(exec.number())).isEqualTo("ready\nbye\n");
      }
    }
  }

  @Test
  void aCallerOfADetachedCommandHangsUpAlone() throws Exception {
    String ticking = "echo ready; while :; do echo tick; sleep 0.1; done";
    for (String accept : List.of(JSON, EVENTS)) {
      long before = last();
      Exec exec;
      String target = execs() + "?wait=true&detach=true";
      try (var _ = post(doors().getFirst(), target, command(ticking), accept)) {
        exec = awaitReady(before);
      }
      long enough = exec.stdoutBytes() + 25L * "tick\n".length();
      await().atMost(SOON).until(() -> execs.inspect(exec.number()).stdoutBytes() > enough);
      assertThat(execs.inspect(exec.number()).state()).isEqualTo("running");
      execs.kill(exec.number(), Duration.ZERO);
    }
  }

  @Test
  void aCallerThatHangsUpOnARunEndsItsBox() throws Exception {
    var idle = HostProcesses.below(DAEMON.pid());
    try (var events = client.events()) {
      for (SocketAddress door : doors()) {
        for (String accept : List.of(JSON, EVENTS)) {
          JsonObject run = JsonObject.empty().with("exec", command(POLITE));
          String other;
          try (var _ = post(door, "/v1/run", run, accept)) {
            other = String.valueOf(next(events, "box").box());
            assertThat(other).isNotEqualTo(box);
            await()
                .atMost(SOON)
                .until(() -> !client.execs(other).list().isEmpty() && isReady(other));
          }
          BoxEvent ended = untilGone(events).getLast();
          assertThat(ended.state()).as("the command ends before its box").isEqualTo("ended");
          assertThat(ended.status()).as("%s %s", door, accept).isEqualTo("killed");
          assertThat(ended.exitCode()).as("the command had its grace").isEqualTo(9);
          assertThat(HostProcesses.below(DAEMON.pid())).isEqualTo(idle);
        }
      }
    }
  }

  private boolean isReady(String other) throws IOException {
    try (var out = client.execs(other).output(1, OutputStreamName.STDOUT, 0)) {
      return new String(out.readAllBytes(), StandardCharsets.UTF_8).contains("ready\n");
    }
  }

  private static BoxEvent next(BoxEvents events, String kind) throws IOException {
    while (true) {
      BoxEvent event = events.next();
      if (event.kind().equals(kind)) {
        return event;
      }
    }
  }

  /** Returns the events about commands until a box is gone. */
  private static List<BoxEvent> untilGone(BoxEvents events) throws IOException {
    var ofCommands = new ArrayList<BoxEvent>();
    while (true) {
      BoxEvent event = events.next();
      if (event.kind().equals("exec")) {
        ofCommands.add(event);
      } else if (event.kind().equals("box") && "gone".equals(event.state())) {
        return ofCommands;
      }
    }
  }
}
