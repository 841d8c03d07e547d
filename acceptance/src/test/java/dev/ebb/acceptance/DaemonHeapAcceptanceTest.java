package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A tenant without a quota has the daemon keep more than its heap holds: it is refused in time, the
 * others are served, and all of it comes back.
 */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonHeapAcceptanceTest {
  private static final int MIB = 1 << 20;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          List::of, Map.of("JDK_JAVA_OPTIONS", "-Xmx128m -XX:+ExitOnOutOfMemoryError"));

  private String key = "";
  private EbbClient hostile;
  private EbbClient other;

  @BeforeEach
  void makeKeys() throws Exception {
    String plain = daemon.key("--tenant", "a");
    key = "Authorization: Bearer " + plain;
    hostile = daemon.client(plain);
    other = daemon.client(daemon.key("--tenant", "b"));
  }

  private int post(String target, String body, String... headers) throws IOException {
    var all = new ArrayList<>(List.of(headers));
    all.add(key);
    return Wire.ask(
            daemon.uri(),
            "POST",
            target,
            body.getBytes(StandardCharsets.ISO_8859_1),
            all.toArray(String[]::new))
        .status();
  }

  /** The daemon lives, serves another tenant, and then keeps nothing any more. */
  private void assertOtherIsServedAndAllComesBack() throws Exception {
    var result = other.run(BoxRequest.defaults(), ExecRequest.of("echo", "served"));
    assertThat(result.stdout().text()).isEqualTo("served\n");
    for (Box box : hostile.boxes().list(BoxQuery.all())) {
      hostile.boxes().remove(box.id(), true);
    }
    // The heap that the request for the figure itself takes.
    await().atMost(DaemonProcess.PATIENCE).until(() -> daemon.gauge("ebb_kept_bytes") <= 32 * 1024);
  }

  @Test
  void unreadInputIsBounded() throws Exception {
    Box box = hostile.boxes().create(BoxRequest.defaults());
    String body =
        "{\"command\":[\"sleep\",\"600\"],\"input\":{\"text\":\"" + "x".repeat(6 * MIB) + "\"}}";
    var answers = new ArrayList<Integer>();
    for (int i = 0; i < 20; i++) {
      answers.add(post("/v1/boxes/" + box.id() + "/execs", body));
    }
    assertThat(answers).contains(201, 429).doesNotContain(500, 0);
    assertOtherIsServedAndAllComesBack();
  }

  @Test
  void commandsThatHaveEndedOrNeverBeganAreForgottenButForTheirBeginning() throws Exception {
    Box box = hostile.boxes().create(BoxRequest.defaults());
    String target = "/v1/boxes/" + box.id() + "/execs?wait=true";
    // Init takes it, and the kernel does not.
    String never = "{\"command\":[\"true\",\"" + "x".repeat(3 * MIB) + "\"]}";
    String ended =
        "{\"command\":[\"true\"],\"environment\":{"
            + String.join(",", words(15, "\"V%d\":\"" + "y".repeat(100_000) + "\""))
            + "}}";
    var answers = new ArrayList<Integer>();
    for (int i = 0; i < 30; i++) {
      answers.add(post(target, never));
      answers.add(post(target, ended));
    }
    assertThat(answers).containsOnly(200);
    var execs = hostile.execs(box.id()).list();
    assertThat(execs).isNotEmpty();
    assertThat(execs)
        .allSatisfy(exec -> assertThat(String.join(" ", exec.command())).hasSizeLessThan(4200));
    assertOtherIsServedAndAllComesBack();
  }

  private static List<String> words(int count, String format) {
    var words = new ArrayList<String>();
    for (int i = 0; i < count; i++) {
      words.add(String.format(format, i));
    }
    return words;
  }

  @Test
  void theInventoryShowsTheBeginningOfEachCommandLine() throws Exception {
    Box box =
        hostile
            .boxes()
            .create(BoxRequest.defaults().withLimits(new Limits(1L << 30, 200, null, null)));
    String many =
        "i=0; while [ $i -lt 15 ]; do set -- \"$@\" $(head -c 100000 /dev/zero | tr '\\0' x);"
            + " i=$((i+1)); done; j=0; while [ $j -lt 60 ]; do"
            + " sh -c 'echo; kill -STOP $$' x \"$@\" & j=$((j+1)); done; wait";
    var exec = hostile.execs(box.id()).start(ExecRequest.of("sh", "-c", many));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> hostile.execs(box.id()).inspect(exec.number()).stdoutBytes() == 60);
    for (int i = 0; i < 3; i++) {
      var inspected = Wire.ask(daemon.uri(), "GET", "/v1/boxes/" + box.id(), "", key);
      assertThat(inspected.status()).isEqualTo(200);
      assertThat(inspected.body()).hasSizeLessThan(2 * MIB);
    }
    assertOtherIsServedAndAllComesBack();
  }

  @Test
  void whatAClientOfMcpSaysOfItselfAndOfItsRequestsIsBounded() throws Exception {
    String name = "x".repeat(4 * MIB);
    String[] headers = {McpWire.ACCEPT};
    String giant = McpWire.INITIALIZE.replace("\"wire\"", "\"" + name + "\"");
    var answers = new ArrayList<Integer>();
    for (int i = 0; i < 20; i++) {
      answers.add(post("/mcp", giant, headers));
    }
    assertThat(answers).containsOnly(413);
    String plain = key.substring(key.lastIndexOf(' ') + 1);
    String session = new McpWire(daemon.uri(), plain).begin();
    for (int i = 0; i < 30; i++) {
      String cancelled =
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\""
              + i
              + name
              + "\"}}";
      assertThat(post("/mcp", cancelled, McpWire.ACCEPT, "Mcp-Session-Id: " + session))
          .isEqualTo(202);
    }
    assertThat(new McpWire(daemon.uri(), plain).end(session)).isEqualTo(204);
    assertOtherIsServedAndAllComesBack();
  }

  @Test
  void aListingOfAnyLengthIsAnswered() throws Exception {
    Box box =
        hostile
            .boxes()
            .create(BoxRequest.defaults().withLimits(new Limits(1L << 30, 64, null, null)));
    var made =
        hostile
            .execs(box.id())
            .run(
                ExecRequest.of(
                    "python3",
                    "-c",
                    "import os\nfor i in range(150000): os.mknod('%06d' % i + 'n' * 150)"));
    assertThat(made.exec().exitCode()).as(made.stderr().text()).isZero();
    long size = 0;
    var ask =
        HttpRequest.newBuilder(
                daemon.uri().resolve("/v1/boxes/" + box.id() + "/files/list?path=/workspace"))
            .header("Authorization", key.substring(key.indexOf("Bearer")))
            .build();
    try (var http = HttpClient.newHttpClient();
        var answer = http.send(ask, HttpResponse.BodyHandlers.ofInputStream()).body()) {
      byte[] piece = new byte[64 * 1024];
      for (int n = answer.read(piece); n >= 0; n = answer.read(piece)) {
        size += n;
      }
    }
    assertThat(size).isGreaterThan(150_000L * 200);
    assertOtherIsServedAndAllComesBack();
  }
}
