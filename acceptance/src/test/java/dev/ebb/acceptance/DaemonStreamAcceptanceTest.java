package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.Offsets;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.client.http.Endpoint;
import dev.ebb.client.http.HttpTransport;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The output of commands, by every route and for every kind of reader. */
@Tag("kernel")
@LeakChecked
@Timeout(240)
final class DaemonStreamAcceptanceTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final Duration SOON = Duration.ofSeconds(20);

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;
  private HttpTransport http;
  private String box;
  private Execs execs;

  @BeforeEach
  void makeABox() throws IOException {
    client = DAEMON.client();
    http = new HttpTransport(Endpoint.unix(DAEMON.home().resolve("ebb.sock")));
    box = client.boxes().create(BoxRequest.defaults()).id();
    execs = client.execs(box);
  }

  @AfterEach
  void hangUp() {
    http.close();
  }

  // --- what is written ---

  private static byte[] lines() {
    var text = new StringBuilder();
    for (int i = 1; i <= 200_000; i++) {
      text.append("line ").append(i).append('\n');
    }
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  /** Every byte value, characters of all lengths across every boundary, no final newline. */
  private static byte[] binary() {
    var bytes = new ByteArrayOutputStream();
    for (int i = 0; i < 256; i++) {
      bytes.write(i);
    }
    byte[] characters = "aé€😀\0\r\n\u2028\u007f".getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < 20_000; i++) {
      bytes.writeBytes(characters);
    }
    bytes.writeBytes(Arrays.copyOf("😀".getBytes(StandardCharsets.UTF_8), 3));
    return bytes.toByteArray();
  }

  /** Cut inside a character at every power of two. */
  private static byte[] characters() {
    return ("x" + "€😀".repeat(60_000)).getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void everyRouteGivesTheSameBytes() throws Exception {
    for (byte[] content : new byte[][] {lines(), binary(), characters()}) {
      client.files(box).write("/workspace/content", content);
      var cat = ExecRequest.of("sh", "-c", "cat content & cat content >&2; wait");
      var result = execs.run(cat);
      byte[] first = Arrays.copyOf(content, Math.min(content.length, MEBIBYTE));
      assertBytes(result.stdout().bytes(), first, "waited for, stdout");
      assertBytes(result.stderr().bytes(), first, "waited for, stderr");
      assertThat(result.exec().truncated()).isEqualTo(content.length > MEBIBYTE);
      assertThat(result.exec().stdoutBytes()).isEqualTo(content.length);
      assertRead(result.exec().number(), content);
      assertThatTheCliGives(content, result.exec().number());
      assertRun(content, first);
    }
  }

  // --- while others end ---

  /** More than the sockets between us hold, so that the daemon waits for its reader. */
  private static final int MANY_LINES = 500_000;

  private static byte[] sequence() {
    var text = new StringBuilder();
    for (int i = 1; i <= MANY_LINES; i++) {
      text.append(i).append('\n');
    }
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  @Test
  void outputThatIsBeingReadIsKeptWhileAHundredOthersEnd() throws Exception {
    long number = execs.run(ExecRequest.of("seq", Integer.toString(MANY_LINES))).exec().number();
    try (Following slow = execs.follow(number, Offsets.START)) {
      assertThat(slow.next()).isPresent();
      for (int i = 0; i < 120; i++) {
        execs.run(ExecRequest.of("true"));
      }
      Followed rest = Followed.all(slow);
      byte[] all = sequence();
      assertBytes(
          rest.stdout(),
          Arrays.copyOfRange(all, all.length - rest.stdout().length, all.length),
          "the rest");
      assertThat(slow.offsets().stdout()).isEqualTo(all.length);
      assertThat(rest.lost()).isZero();
      assertThat(rest.end().orElseThrow().exec().status()).isEqualTo("exited");
    }
    execs.run(ExecRequest.of("true"));
    assertThat(execs.list()).hasSize(100).noneMatch(each -> each.number() == number);
  }

  @Test
  void aReaderOfRemovedOutputReceivesTheGapAndTheEnd() throws Exception {
    long number = execs.run(ExecRequest.of("seq", Integer.toString(MANY_LINES))).exec().number();
    try (Following slow = execs.follow(number, Offsets.START)) {
      assertThat(slow.next()).isPresent();
      long seen = slow.offsets().stdout();
      client.boxes().remove(box, true);
      Followed rest = Followed.all(slow);
      assertThat(rest.lost()).isPositive();
      assertThat(seen + rest.stdout().length + rest.lost()).isEqualTo(sequence().length);
      Exec end = rest.end().orElseThrow().exec();
      assertThat(end.status()).isEqualTo("output-lost");
      assertThat(end.exitCode()).isEqualTo(125);
      assertThat(Objects.requireNonNull(end.lost()).stdoutBytes()).isEqualTo(rest.lost());
    }
    box = client.boxes().create(BoxRequest.defaults()).id();
  }

  private void assertRead(long number, byte[] content) throws IOException {
    assertBytes(raw(number, 0), content, "raw");
    assertBytes(raw(number, 70_001), from(content, 70_001), "raw, from an offset");
    assertBytes(raw(number, content.length + 5L), new byte[0], "raw, beyond the end");
    assertBytes(rawInPieces(number), content, "raw, in pieces");
    assertBytes(json(number), content, "JSON");
    Followed followed = Followed.all(execs.follow(number, Offsets.START));
    assertBytes(followed.stdout(), content, "events, stdout");
    assertBytes(followed.stderr(), content, "events, stderr");
    assertThat(followed.end()).isPresent();
  }

  private byte[] raw(long number, long offset) throws IOException {
    try (InputStream in = execs.output(number, OutputStreamName.STDERR, offset)) {
      return in.readAllBytes();
    }
  }

  private Target output(long number) {
    return Target.of("v1", "boxes", box, "execs", Long.toString(number), "output");
  }

  private byte[] rawInPieces(long number) throws IOException {
    var bytes = new ByteArrayOutputStream();
    long offset = 0;
    while (true) {
      Target target = output(number).with("offset", offset).with("limit", 333_333);
      try (var answer = http.send(Request.of("GET", target))) {
        byte[] piece = answer.body().readAllBytes();
        if (piece.length == 0) {
          return bytes.toByteArray();
        }
        bytes.writeBytes(piece);
        offset = Long.parseLong(answer.headers().first("Ebb-Next-Offset").orElseThrow());
      }
    }
  }

  private byte[] json(long number) throws IOException {
    var bytes = new ByteArrayOutputStream();
    JsonObject answer = JsonObject.empty().with("stdoutOffset", 0L).with("stderrOffset", 0L);
    do {
      Target target =
          output(number)
              .with("stdoutOffset", answer.number("stdoutOffset"))
              .with("stderrOffset", answer.number("stderrOffset"));
      Request request = Request.of("GET", target).with("Accept", "application/json");
      answer = Json.readObject(http.send(request).bytes(16 * MEBIBYTE, SOON));
      bytes.writeBytes(bytes(answer.object("stdout")));
    } while (!answer.isTrue("ended"));
    return bytes.toByteArray();
  }

  private static byte[] bytes(JsonObject output) throws IOException {
    String text = output.stringOrNull("text");
    return text == null
        ? Base64.getDecoder().decode(output.string("base64"))
        : text.getBytes(StandardCharsets.UTF_8);
  }

  private void assertThatTheCliGives(byte[] content, long number) throws Exception {
    var exec = DAEMON.ebb().call("exec", box, "cat", "content");
    assertThat(exec.code()).as(exec.stderr()).isZero();
    assertBytes(exec.stdout(), content, "ebb exec");
    var logs = DAEMON.ebb().call("logs", box, Long.toString(number));
    assertBytes(logs.stdout(), content, "ebb logs");
  }

  private void assertRun(byte[] content, byte[] first) throws IOException {
    var request = BoxRequest.defaults().withFile("content", Output.of(content));
    var cat = ExecRequest.of("cat", "content");
    assertBytes(client.run(request, cat).stdout().bytes(), first, "run");
    assertBytes(Followed.all(client.runAndFollow(request, cat)).stdout(), content, "run, events");
  }

  private static byte[] from(byte[] bytes, int start) {
    return Arrays.copyOfRange(bytes, start, bytes.length);
  }

  /** Without printing megabytes when they differ. */
  private static void assertBytes(byte[] actual, byte[] expected, String route) {
    assertThat(actual.length).as("bytes by %s", route).isEqualTo(expected.length);
    assertThat(Arrays.mismatch(actual, expected)).as("first difference by %s", route).isNegative();
  }

  // --- readers ---

  @Test
  void aReaderThatGivesUpDisturbsNoOther() throws Exception {
    byte[] content = lines();
    client.files(box).write("/workspace/content", content);
    int descriptors = DAEMON.descriptors();
    Exec endless =
        execs.start(ExecRequest.of("sh", "-c", "while :; do echo more; sleep 0.01; done"));
    for (int i = 0; i < 5; i++) {
      assertThat(Followed.some(execs.follow(endless.number(), Offsets.START), i + 1).events())
          .isEqualTo(i + 1);
      assertThat(client.isReady()).isTrue();
    }
    execs.kill(endless.number(), Duration.ofSeconds(1));
    Exec exec = execs.start(ExecRequest.of("sh", "-c", "cat content; sleep 0.3; cat content >&2"));
    Followed.some(execs.follow(exec.number(), Offsets.START), 1);
    Followed.some(execs.follow(exec.number(), Offsets.START), 10);
    var atTheEnd = execs.follow(exec.number(), new Offsets(content.length, content.length));
    execs.await(exec.number());
    atTheEnd.close();
    Followed later = Followed.all(execs.follow(exec.number(), Offsets.START));
    assertBytes(later.stdout(), content, "a later reader");
    assertBytes(later.stderr(), content, "a later reader");
    await().atMost(SOON).until(() -> DAEMON.descriptors() <= descriptors + 2);
  }

  @Test
  void readersThatComeOneAfterAnotherAllSeeAll() throws Exception {
    String script = "for i in 1 2 3 4 5 6 7 8 9; do seq 2000; echo $i >&2; sleep 0.1; done";
    Exec exec = execs.start(ExecRequest.of("sh", "-c", script));
    var readers = new ArrayList<CompletableFuture<Followed>>();
    for (int bytes : new int[] {0, 10_000, 40_000}) {
      await().atMost(SOON).until(() -> execs.inspect(exec.number()).stdoutBytes() >= bytes);
      readers.add(background(() -> Followed.all(execs.follow(exec.number(), Offsets.START))));
    }
    byte[] expected = raw(execs.await(exec.number()), OutputStreamName.STDOUT);
    assertThat(expected).hasSize(9 * 8893);
    for (var reader : readers) {
      assertBytes(reader.join().stdout(), expected, "a reader");
      assertThat(reader.join().stderr()).asString().isEqualTo("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    }
  }

  private byte[] raw(Exec exec, OutputStreamName stream) throws IOException {
    try (InputStream in = execs.output(exec.number(), stream, 0)) {
      return in.readAllBytes();
    }
  }

  private interface Reading {
    Followed read() throws IOException;
  }

  private static CompletableFuture<Followed> background(Reading reading) {
    var result = new CompletableFuture<Followed>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                result.complete(reading.read());
              } catch (IOException | RuntimeException e) {
                result.completeExceptionally(e);
              }
            });
    return result;
  }

  @Test
  void aSlowReaderDelaysNeitherTheCommandNorOthers() throws Exception {
    client.files(box).write("/workspace/content", lines());
    Exec exec =
        execs.start(ExecRequest.of("sh", "-c", "cat content content content content content"));
    Request follow =
        Request.of("GET", output(exec.number())).with("Accept", "text/event-stream").with(SOON);
    try (var events = http.send(follow);
        var all = http.send(Request.of("GET", output(exec.number())))) {
      assertThat(execs.await(exec.number(), SOON).hasEnded()).isTrue();
      Followed other = Followed.all(execs.follow(exec.number(), Offsets.START));
      assertThat(other.stdout()).hasSize(5 * lines().length);
      assertThat(all.status()).isEqualTo(200);
      String seen = new String(events.body().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(seen.split("line 200000\\\\n", -1)).hasSize(6);
      assertThat(seen).contains("event: end");
    }
  }

  @Test
  void aReaderGoesOnAtTheVeryByte() throws Exception {
    byte[] content = characters();
    client.files(box).write("/workspace/content", content);
    Exec exec = execs.run(ExecRequest.of("sh", "-c", "cat content; cat content >&2")).exec();
    for (int at : new int[] {0, 1, 2, 3, 65_535, 65_536, 65_537, content.length - 1}) {
      Followed rest = Followed.all(execs.follow(exec.number(), new Offsets(at, content.length)));
      assertBytes(rest.stdout(), from(content, at), "Last-Event-ID " + at);
      assertThat(rest.stderr()).isEmpty();
    }
    var pieces = new ByteArrayOutputStream();
    Offsets offsets = Offsets.START;
    while (offsets.stdout() < content.length || offsets.stderr() < content.length) {
      var following = execs.follow(exec.number(), offsets);
      pieces.writeBytes(Followed.some(following, 1).stdout());
      offsets = following.offsets();
    }
    assertBytes(pieces.toByteArray(), content, "a new connection for each event");
    Request huge =
        Request.of("GET", output(exec.number()))
            .with("Accept", "text/event-stream")
            .with("Last-Event-ID", "18446744073709551615:0");
    try (var answer = http.send(huge)) {
      assertThat(answer.status()).isEqualTo(400);
    }
  }

  @Test
  @Tag("long")
  @Timeout(600)
  void aGibibyteFlowsThroughASmallDaemon() throws Exception {
    long size = 1L << 30;
    var request =
        ExecRequest.of("sh", "-c", "head -c " + size + " /dev/zero | tr '\\0' z")
            .withLimits(2 * size, null, null);
    Exec exec = execs.start(request);
    long before = DAEMON.memory();
    long seen = 0;
    long most = 0;
    byte[] chunk = new byte[MEBIBYTE];
    try (var events =
        http.send(Request.of("GET", output(exec.number())).with("Accept", "text/event-stream"))) {
      for (int n = events.body().read(chunk); n >= 0; n = events.body().read(chunk)) {
        for (int i = 0; i < n; i++) {
          seen += chunk[i] == 'z' ? 1 : 0;
        }
        most = Math.max(most, DAEMON.memory());
      }
    }
    assertThat(seen).isBetween(size, size + 100);
    try (InputStream in = execs.output(exec.number(), OutputStreamName.STDOUT, 0)) {
      long raw = 0;
      for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
        raw += n;
        most = Math.max(most, DAEMON.memory());
      }
      assertThat(raw).isEqualTo(size);
    }
    assertThat(most - before).as("growth of the daemon").isLessThan(160L * MEBIBYTE);
  }
}
