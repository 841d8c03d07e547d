package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.LeakChecked;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The stdin of commands. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonStdinAcceptanceTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private Execs execs;

  @BeforeEach
  void makeABox() throws IOException {
    EbbClient client = DAEMON.client();
    execs = client.execs(client.boxes().create(BoxRequest.defaults()).id());
  }

  private Exec start(String script) throws IOException {
    return execs.start(ExecRequest.of("sh", "-c", script).withStdin());
  }

  private String output(Exec exec) throws IOException {
    try (var out = execs.output(exec.number(), OutputStreamName.STDOUT, 0)) {
      return new String(out.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void aHundredMegabytesArriveWhole() throws Exception {
    byte[] piece = new byte[1_000_000];
    new Random(1).nextBytes(piece);
    var digest = MessageDigest.getInstance("SHA-256");
    for (int i = 0; i < 100; i++) {
      digest.update(piece);
    }
    Exec exec = start("cat | sha256sum");
    execs.feedAll(exec.number(), repeat(piece, 100));
    assertThat(execs.await(exec.number()).exitCode()).isZero();
    assertThat(output(exec)).startsWith(HexFormat.of().formatHex(digest.digest()));
  }

  private static InputStream repeat(byte[] piece, int times) {
    return new InputStream() {
      private final byte[] one = new byte[1];
      private long left = (long) piece.length * times;

      @Override
      public int read() {
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] buffer, int offset, int length) {
        if (left == 0) {
          return -1;
        }
        int at = (int) (((long) piece.length * times - left) % piece.length);
        int n = Math.min(length, piece.length - at);
        System.arraycopy(piece, at, buffer, offset, n);
        left -= n;
        return n;
      }
    };
  }

  @Test
  void inputMayComeInPiecesOrInTheRequest() throws IOException {
    Exec cat = start("cat; echo end");
    for (String piece : List.of("one ", "two ", "thr\0ee\n")) {
      execs.feed(cat.number(), piece.getBytes(StandardCharsets.UTF_8));
    }
    await().atMost(SOON).until(() -> output(cat).equals("one two thr\0ee\n"));
    execs.closeStdin(cat.number());
    assertThat(execs.await(cat.number(), SOON).exitCode()).isZero();
    assertThat(output(cat)).isEqualTo("one two thr\0ee\nend\n");

    byte[] all = new byte[700_000];
    new Random(2).nextBytes(all);
    var echoed = execs.run(ExecRequest.of("cat").withInput(Output.of(all)));
    assertThat(Arrays.mismatch(echoed.stdout().bytes(), all)).isNegative();
    var none = execs.run(ExecRequest.of("cat").withInput(Output.of(new byte[0])));
    assertThat(none.stdout().size()).isZero();
    var unread = execs.run(ExecRequest.of("echo", "done").withInput(Output.of(all)));
    assertThat(unread.stdout().text()).isEqualTo("done\n");
  }

  /** A client sends the end of the input after the last bytes, which may end the command. */
  @Test
  void theEndOfTheInputMayComeAfterTheEndOfTheCommand() throws Exception {
    for (boolean isLate : List.of(false, true)) {
      Exec exec = start("read line");
      try (Wire wire = Wire.to(DAEMON.uri())) {
        wire.write(
            """
            POST /v1/boxes/%s/execs/%d/stdin?close=true HTTP/1.1\r
            Host: %s\r
            Authorization: Bearer %s\r
            Transfer-Encoding: chunked\r
            \r
            1\r
            \n\r
            """
                .formatted(exec.box(), exec.number(), DAEMON.uri().getAuthority(), DAEMON.key()));
        assertThat(execs.await(exec.number(), SOON).exitCode()).isZero();
        if (!isLate) {
          wire.write("0\r\n\r\n");
        }
        assertThat(wire.until("\r\n\r\n")).startsWith(isLate ? "HTTP/1.1 409" : "HTTP/1.1 204");
      }
    }
  }

  @Test
  void aCommandThatReadsNoMoreRefusesTheRest() throws IOException {
    Exec head = start("head -c 3; exec <&-; echo; echo closed; sleep 600");
    byte[] much = new byte[500_000];
    Arrays.fill(much, (byte) 'x');
    assertWrongState(() -> execs.feedAll(head.number(), new ByteArrayInputStream(much)));
    await().atMost(SOON).until(() -> output(head).equals("xxx\nclosed\n"));
    execs.kill(head.number(), Duration.ZERO);
    assertWrongState(() -> execs.feed(head.number(), much));
    Exec deaf = execs.start(ExecRequest.of("sleep", "600"));
    assertWrongState(() -> execs.feed(deaf.number(), much));
    Exec closed = start("cat; sleep 600");
    execs.closeStdin(closed.number());
    assertWrongState(() -> execs.feed(closed.number(), much));
  }

  private static void assertWrongState(ThrowingCallable writing) {
    assertThatThrownBy(writing)
        .isInstanceOfSatisfying(
            EbbException.class, e -> assertThat(e.code()).isEqualTo("wrong-state"));
  }

  @Test
  void writingToACommandThatNeverReadsWaitsForItsEnd() throws Exception {
    Exec deaf = start("echo ready; sleep 600");
    var writers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 3; i++) {
      writers.add(background(() -> execs.feed(deaf.number(), new byte[1_000_000])));
    }
    for (int i = 0; i < 20; i++) {
      assertThat(execs.run(ExecRequest.of("echo", "hi")).stdout().text()).isEqualTo("hi\n");
    }
    assertThat(writers).noneMatch(CompletableFuture::isDone);
    execs.kill(deaf.number(), Duration.ofSeconds(1));
    await().atMost(SOON).until(() -> writers.stream().allMatch(CompletableFuture::isDone));
    for (var writer : writers) {
      assertWrongState(() -> unwrap(writer));
    }
  }

  @Test
  void twoWritersLoseNothing() throws Exception {
    Exec cat = start("sleep 0.3; cat");
    byte[] a = new byte[300_000];
    byte[] b = new byte[300_000];
    Arrays.fill(a, (byte) 'a');
    Arrays.fill(b, (byte) 'b');
    var one = background(() -> execs.feed(cat.number(), a));
    var two = background(() -> execs.feed(cat.number(), b));
    one.join();
    two.join();
    execs.closeStdin(cat.number());
    execs.await(cat.number(), SOON);
    assertThat(output(cat)).hasSize(600_000);
    assertThat(output(cat).chars().filter(c -> c == 'a').count()).isEqualTo(300_000);
  }

  /** The daemon then does not read from the connection for longer than it may be idle. */
  @Test
  @Tag("long")
  void inputThatWaitsForALateReaderArrives() throws Exception {
    Exec late = start("sleep 65; wc -c");
    var keys = new PipedOutputStream();
    var typed = new PipedInputStream(keys, 1_000_000);
    var feeding = background(() -> execs.feedAll(late.number(), typed));
    keys.write(new byte[1_000_000]);
    keys.flush();
    await().atMost(Duration.ofSeconds(100)).until(() -> typed.available() == 0);
    assertThat(execs.await(late.number(), Duration.ofSeconds(66)).hasEnded()).isFalse();
    keys.write(new byte[1000]);
    keys.close();
    feeding.get(20, TimeUnit.SECONDS);
    assertThat(execs.await(late.number(), SOON).exitCode()).isZero();
    assertThat(output(late)).isEqualTo("1001000\n");
  }

  @Test
  @Tag("long")
  void inputThatIsTypedSlowlyArrives() throws Exception {
    Exec cat = start("cat");
    var keys = new PipedOutputStream();
    var typed = new PipedInputStream(keys);
    var feeding = background(() -> execs.feedAll(cat.number(), typed));
    keys.write("one ".getBytes(StandardCharsets.UTF_8));
    keys.flush();
    await().atMost(SOON).until(() -> output(cat).equals("one "));
    // Longer than a connection may be idle.
    assertThat(execs.await(cat.number(), Duration.ofSeconds(65)).hasEnded()).isFalse();
    keys.write("two".getBytes(StandardCharsets.UTF_8));
    keys.close();
    feeding.join();
    assertThat(execs.await(cat.number(), SOON).exitCode()).isZero();
    assertThat(output(cat)).isEqualTo("one two");
  }

  @Test
  @Tag("long")
  void aLongLadderIsWaitedFor() throws Exception {
    Exec stubborn = start("trap '' TERM; echo ready; while :; do sleep 1; done");
    await().atMost(SOON).until(() -> output(stubborn).equals("ready\n"));
    var writing = background(() -> execs.feed(stubborn.number(), new byte[1_000_000]));
    Exec killed = execs.kill(stubborn.number(), Duration.ofSeconds(65));
    assertThat(killed.status()).isEqualTo("killed");
    assertWrongState(() -> unwrap(writing));
  }

  private interface Writing {
    void write() throws IOException;
  }

  private static CompletableFuture<Void> background(Writing writing) {
    var result = new CompletableFuture<Void>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                writing.write();
                result.complete(null);
              } catch (IOException | RuntimeException e) {
                result.completeExceptionally(e);
              }
            });
    return result;
  }

  private static void unwrap(CompletableFuture<Void> future) throws Throwable {
    try {
      future.join();
    } catch (CompletionException e) {
      throw e.getCause();
    }
  }
}
