package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Input of commands in a detached box that was still open when their daemon ended. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonCutInputAcceptanceTest {
  private static final String PIECE = "x".repeat(1000);

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private interface Ending {
    void of(DaemonProcess daemon) throws Exception;
  }

  private Execs execs() throws IOException {
    return daemon.client().execs("box");
  }

  private long start(String script) throws IOException {
    return execs().start(ExecRequest.of("sh", "-c", script).withStdin()).number();
  }

  private String output(long number) throws IOException {
    try (var out = execs().output(number, OutputStreamName.STDOUT, 0)) {
      return new String(out.readAllBytes(), UTF_8);
    }
  }

  /** Two commands read when their daemon ends; the input of the second was complete. */
  private void cutBy(Ending ending) throws Exception {
    daemon.client().boxes().create(BoxRequest.defaults().withName("box").withDetached());
    long cut = start("wc -c; until [ -e go ]; do sleep 0.02; done");
    long whole = start("wc -c; until [ -e go ]; do sleep 0.02; done");
    execs().feed(cut, PIECE.getBytes(UTF_8));
    execs().feed(whole, PIECE.getBytes(UTF_8));
    execs().closeStdin(whole);
    assertThat(execs().inspect(cut).inputCut()).isFalse();
    ending.of(daemon);
    daemon.start();
    await().atMost(DaemonProcess.PATIENCE).until(() -> output(cut).equals("1000\n"));
    assertThat(execs().inspect(cut)).matches(Exec::inputCut).matches(exec -> !exec.hasEnded());
    assertThat(execs().inspect(whole).inputCut()).isFalse();
    refusesMore(cut);

    execs().run(ExecRequest.of("touch", "go"));
    assertEnd(execs().await(cut), true);
    assertEnd(execs().await(whole), false);
    // The daemon after the next one knows it from the record alone.
    ending.of(daemon);
    daemon.start();
    assertEnd(execs().inspect(cut), true);
    assertEnd(execs().inspect(whole), false);
    assertThat(daemon.client().boxes().remove("box", true).clean()).isTrue();
  }

  private void refusesMore(long number) throws IOException {
    var execs = execs();
    var refusal =
        catchThrowableOfType(EbbException.class, () -> execs.feed(number, new byte[] {1}));
    assertThat(refusal.status()).isEqualTo(409);
    assertThat(refusal.detail()).contains("lost its input with an earlier daemon");
  }

  private static void assertEnd(Exec exec, boolean isCut) {
    assertThat(exec.exitCode()).isZero();
    assertThat(exec.inputCut()).isEqualTo(isCut);
  }

  @Test
  void isReportedAsCutAfterAKill() throws Exception {
    cutBy(DaemonProcess::kill);
  }

  @Test
  void isReportedAsCutAfterATermination() throws Exception {
    cutBy(daemon -> assertThat(daemon.stop()).isZero());
  }

  @Test
  void aFileStaysAsItWasWhenItsUploadIsCut() throws Exception {
    daemon.client().boxes().create(BoxRequest.defaults().withName("box").withDetached());
    daemon.client().files("box").write("/workspace/file", "before".getBytes(UTF_8));
    try (Wire wire = Wire.to(daemon.uri())) {
      wire.write(
          """
          PUT /v1/boxes/box/files?path=file HTTP/1.1\r
          Host: %s\r
          Authorization: Bearer %s\r
          Content-Length: 2000000\r
          \r
          """
              .formatted(daemon.uri().getAuthority(), daemon.key()));
      wire.write(new byte[1_000_000]);
      await().atMost(DaemonProcess.PATIENCE).until(() -> processes() > 1);
      daemon.kill();
    }
    daemon.start();
    await().atMost(DaemonProcess.PATIENCE).until(() -> processes() == 1);
    byte[] content = daemon.client().files("box").read("/workspace/file").readAllBytes();
    assertThat(content).asString(UTF_8).isEqualTo("before");
    String all = execs().run(ExecRequest.of("ls", "-A")).stdout().text();
    assertThat(all).isEqualTo("file\n");
    assertThat(daemon.client().boxes().remove("box", true).clean()).isTrue();
  }

  /** Returns the number of processes of the box: init, and those that write the file. */
  private long processes() throws IOException {
    return daemon.client().boxes().inspect("box").holdings().stream()
        .filter(held -> held.kind().equals("process"))
        .count();
  }
}
