package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Hostile requests: the daemon refuses them and is unchanged. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonHostileRequestAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private String key = "";

  @BeforeEach
  void makeKey() throws Exception {
    key = "Authorization: Bearer " + DAEMON.key("--admin");
  }

  private Wire.Answer create(byte[] body, String... headers) throws Exception {
    return post("/v1/boxes", body, headers);
  }

  private Wire.Answer post(String target, byte[] body, String... headers) throws Exception {
    var all = new ArrayList<>(List.of(headers));
    all.add(key);
    return Wire.ask(DAEMON.uri(), "POST", target, body, all.toArray(String[]::new));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private void assertUnchanged() throws Exception {
    assertThat(DAEMON.client().boxes().list(BoxQuery.all())).isEmpty();
    assertThat(DAEMON.client().isReady()).isTrue();
  }

  @Test
  void anInvalidBodyIsRefused() throws Exception {
    for (String body :
        List.of(
            "[".repeat(100_000),
            "{\"labels\":".repeat(100_000),
            "{\"labels\":{\"a\":" + "[".repeat(100_000) + "]".repeat(100_000) + "}}",
            "[]",
            "\"name\"",
            "17",
            "null",
            "{",
            "{}}",
            "{} {}",
            "{\"name\":\"a\",}",
            "{\"name\" \"a\"}",
            "{name:\"a\"}",
            "{'name':'a'}",
            "{\"name\":\"a\" \"ttlMillis\":1}",
            "{\"name\":\"a",
            "{\"name\":\"\\x\"}",
            "{\"name\":\"\\u12\"}",
            "{\"name\":\"a\\u0000b\"}",
            "{\"name\":\"\\ud800\"}",
            "{\"name\":\"../a\"}",
            "{\"name\":\"" + "a".repeat(64) + "\"}",
            "{\"name\":7}",
            "{\"name\":\"a\",\"name\":\"b\"}",
            "{\"limits\":{\"pids\":1,\"pids\":2}}",
            "{\"labels\":{\"a\":\"1\",\"a\":\"2\"}}",
            "{\"nmae\":\"a\"}",
            "{\"limits\":{\"memory\":1}}",
            "{\"labels\":{\"a\":null}}",
            "{\"labels\":[]}",
            "{\"mounts\":{}}",
            "{\"mounts\":[null]}",
            "{\"files\":[{\"path\":\"a\",\"content\":{\"text\":\"\\udc80\"}}]}",
            "{\"files\":[{\"path\":\"a\",\"content\":{\"base64\":\"*\"}}]}",
            "{\"files\":[{\"path\":\"\",\"content\":{\"text\":\"\"}}]}",
            "{\"network\":\"\\ud83d\"}")) {
      var answer = create(bytes(body));
      String shown = body.substring(0, Math.min(80, body.length()));
      assertThat(answer.status()).as(shown + " → " + answer).isEqualTo(400);
      assertThat(answer.body()).as(shown).contains("\"code\":\"bad-request\"");
    }
    assertUnchanged();
  }

  @Test
  void anImpossibleNumberIsRefused() throws Exception {
    for (String number :
        List.of(
            "-1",
            "1.5",
            "1e19",
            "1e300",
            "1e400",
            "-1e400",
            "1e1000000000",
            "1e-1000000000",
            "9223372036854775808",
            "18446744073709551617",
            "1" + "0".repeat(100_000),
            "0." + "0".repeat(100_000) + "1",
            "NaN",
            "Infinity",
            "0x10",
            "--1",
            "1e",
            "\"1\"",
            "true",
            "{}")) {
      for (String field :
          List.of(
              "{\"ttlMillis\":%s}",
              "{\"idleTimeoutMillis\":%s}",
              "{\"limits\":{\"memoryBytes\":%s}}",
              "{\"limits\":{\"pids\":%s}}",
              "{\"limits\":{\"diskBytes\":%s}}")) {
        var answer = create(bytes(field.formatted(number)));
        String shown = field + " " + number.substring(0, Math.min(40, number.length()));
        assertThat(answer.status()).as(shown + " → " + answer).isEqualTo(400);
      }
    }
    for (String cpus : List.of("0", "-1", "1e400", "1e-400", "4097", "1e1000000000")) {
      var answer = create(bytes("{\"limits\":{\"cpus\":" + cpus + "}}"));
      assertThat(answer.status()).as(cpus + " → " + answer).isEqualTo(400);
    }
    assertUnchanged();
  }

  @Test
  void aBodyThatIsTooLargeOrOddlyEncodedIsRefused() throws Exception {
    byte[] large = new byte[20 << 20];
    Arrays.fill(large, (byte) ' ');
    assertThat(create(large).status()).isEqualTo(413);
    assertThat(create(new byte[0], "Content-Length: 9999999999").status()).isEqualTo(413);
    assertThat(create(new byte[0], "Content-Length: -1").status()).isEqualTo(400);
    assertThat(create(new byte[0], "Content-Length: 99999999999999999999").isRefusal()).isTrue();
    assertThat(create(bytes("{}"), "Content-Length: 2", "Transfer-Encoding: chunked").isRefusal())
        .isTrue();
    assertThat(create(bytes("zz\r\n{}\r\n0\r\n\r\n"), "Transfer-Encoding: chunked").status())
        .isEqualTo(400);
    assertThat(create(bytes("2\r\n{}\r\n0\r\n\r\n"), "Transfer-Encoding: gzip, chunked").status())
        .isBetween(400, 501);
    for (String coding : List.of("gzip", "deflate", "br", "GZIP")) {
      assertThat(create(bytes("{}"), "Content-Encoding: " + coding).isRefusal()).isTrue();
    }
    for (byte[] invalid :
        List.of(
            new byte[] {'{', '"', (byte) 0xff, '"', ':', '1', '}'},
            new byte[] {(byte) 0xc0, (byte) 0x80},
            new byte[] {(byte) 0xed, (byte) 0xa0, (byte) 0x80},
            new byte[] {(byte) 0xff, (byte) 0xfe, '{', 0, '}', 0})) {
      assertThat(create(invalid).status()).isEqualTo(400);
    }
    assertUnchanged();
  }

  @Test
  void aCommandThatNoKernelAcceptsIsRefused() throws Exception {
    DAEMON.client().boxes().create(BoxRequest.defaults().withName("b"));
    String many = String.join(",", Collections.nCopies(1_000_000, "\"true\""));
    for (String body :
        List.of(
            "{}",
            "{\"command\":[" + many + "]}",
            "{\"command\":[]}",
            "{\"command\":[\"\"]}",
            "{\"command\":[\"a\\u0000b\"]}",
            "{\"command\":[\"true\"],\"environment\":{\"a=b\":\"c\"}}",
            "{\"command\":[\"true\"],\"environment\":{\"\":\"c\"}}",
            "{\"command\":[\"true\"],\"environment\":{\"a\":\"\\u0000\"}}",
            "{\"command\":[\"true\"],\"workdir\":\"relative\\u0000\"}",
            "{\"command\":[\"true\"],\"timeoutMillis\":1e300}",
            "{\"command\":[\"true\"],\"openFiles\":2}",
            "{\"command\":[\"true\"],\"terminal\":{\"rows\":0,\"columns\":1}}",
            "{\"command\":[\"true\"],\"terminal\":{\"rows\":65536,\"columns\":1}}",
            "{\"command\":[\"true\"],\"stdin\":true,\"input\":{\"text\":\"\"}}",
            "{\"command\":\"true\"}")) {
      for (String query : List.of("", "?wait=true")) {
        var answer = post("/v1/boxes/b/execs" + query, bytes(body));
        String shown = body.substring(0, Math.min(80, body.length()));
        assertThat(answer.isRefusal()).as(shown + " → " + answer.head()).isTrue();
      }
    }
    assertThat(DAEMON.client().execs("b").list()).isEmpty();
    // Only the kernel can refuse this command.
    var result = DAEMON.client().execs("b").run(ExecRequest.of("true", "a".repeat(3_000_000)));
    assertThat(result.exec().status()).isEqualTo("not-started");
    DAEMON.client().boxes().remove("b", true);
    assertUnchanged();
  }

  @Test
  void aHeadThatIsTooLargeOrMalformedIsRefused() throws Exception {
    String[] many =
        IntStream.range(0, 100_000).mapToObj(i -> "X-" + i + ": a").toArray(String[]::new);
    assertThat(create(bytes("{}"), many).isRefusal()).isTrue();
    assertThat(create(bytes("{}"), "X: " + "a".repeat(1 << 20)).isRefusal()).isTrue();
    assertThat(post("/v1/" + "a/".repeat(1 << 19), bytes("{}")).isRefusal()).isTrue();
    for (String text :
        List.of(
            "GET /v1/boxes\r\n\r\n",
            "GET  /v1/boxes HTTP/1.1\r\n\r\n",
            "GET /v1/boxes HTTP/9.9\r\n\r\n",
            "GET /v1/version HTTP/1.1\r\nHost: localhost\r\n folded: a\r\n\r\n",
            "GET /v1/version HTTP/1.1\r\nHost: localhost\r\nA b: c\r\n\r\n",
            "GET /v1/version HTTP/1.1\r\nHost: localhost\r\nA: b\0c\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\0\0\0\0\0\0\0\r\n\r\n",
            "\u0016\u0003\u0001\0\u0005hello\r\n\r\n")) {
      try (Wire wire = Wire.to(DAEMON.uri())) {
        wire.write(text);
        var answer = wire.answer();
        assertThat(answer.isRefusal() || answer.status() == 0 || answer.status() == 505)
            .as(text + " → " + answer)
            .isTrue();
      }
    }
    assertUnchanged();
  }

  @Test
  void aRandomPathIsRefused() throws Exception {
    var random = new Random(20261116);
    for (int i = 0; i < 400; i++) {
      String method = pick(random, "GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "WHAT");
      String target = target(random);
      var answer = Wire.ask(DAEMON.uri(), method, target, "{\"name\":7}", key);
      assertThat(answer.isRefusal()).as(i + ": " + method + " " + target + " → " + answer).isTrue();
    }
    assertUnchanged();
    assertThat(DAEMON.threads()).isLessThanOrEqualTo(24);
  }

  private static String target(Random random) {
    var path = new StringBuilder(random.nextInt(3) == 0 ? "" : "/v1/boxes");
    for (int i = random.nextInt(1, 6); i > 0; i--) {
      path.append('/').append(word(random));
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      path.append(path.indexOf("?") < 0 ? '?' : '&').append(word(random)).append('=');
      path.append(word(random));
    }
    return path.toString();
  }

  private static String word(Random random) {
    return switch (random.nextInt(4)) {
      case 0 ->
          pick(random, "execs", "files", "1", "-1", "99999999999", "output", "tar", "path", "stop");
      case 1 ->
          pick(random, "..", ".", "%2e%2e", "%2f", "%00", "%", "%zz", "%ff%fe", "..%2f..", ";a=b");
      case 2 -> pick(random, "", "a".repeat(300), "*", "~", "\\", "[", "{box}", "'\"", "é", "😀");
      default -> "%%%02x".formatted(random.nextInt(256)).repeat(random.nextInt(1, 9));
    };
  }

  private static String pick(Random random, String... words) {
    return words[random.nextInt(words.length)];
  }

  @Test
  @Tag("long")
  void aSlowRequestDelaysNoOtherAndIsCutOff() throws Exception {
    var dripping = new ArrayList<Drip>();
    String head = "POST /v1/boxes HTTP/1.1\r\nHost: localhost\r\n" + key + "\r\n";
    for (int i = 0; i < 100; i++) {
      dripping.add(new Drip("GET /v1/version HTTP/1.1\r\nX-Slow: "));
      dripping.add(new Drip(head + "Content-Length: 100000\r\n\r\n"));
      // Also after a complete request.
      dripping.add(new Drip("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /x"));
    }
    long begun = System.nanoTime();
    long end = begun + TimeUnit.SECONDS.toNanos(60);
    while (dripping.stream().filter(Drip::isTaken).count() > 0) {
      long before = System.nanoTime();
      assertThat(DAEMON.client().isReady()).isTrue();
      assertThat(System.nanoTime() - before).isLessThan(TimeUnit.SECONDS.toNanos(5));
      assertThat(before).as("still taken").isLessThan(end);
      TimeUnit.MILLISECONDS.sleep(500);
    }
    assertThat(System.nanoTime() - begun).isGreaterThan(TimeUnit.SECONDS.toNanos(5));
    for (Drip drip : dripping) {
      drip.wire.close();
    }
    assertUnchanged();
  }

  private static final class Drip {
    private final Wire wire;

    Drip(String begin) throws Exception {
      wire = Wire.to(DAEMON.uri());
      wire.write(begin);
    }

    /**
     * Sends one byte; returns whether the daemon still takes it. A reset may come one byte late.
     */
    boolean isTaken() {
      return wire.write(new byte[] {'a'});
    }
  }
}
