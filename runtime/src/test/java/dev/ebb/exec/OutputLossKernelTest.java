package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.bytes;
import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.Errno;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.OutputLost;
import dev.ebb.model.ExitCause.TimedOut;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.SmallDisk;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** On a disk that is full, or flaps: what is stored is the beginning, and the rest is counted. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class OutputLossKernelTest {
  private static final int KEPT = 4096;
  private static final int ENOSPC = Errno.ENOSPC.number();
  private static final long SIZE = 4 << 20;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private SmallDisk disk;
  private Engine engine;

  @BeforeEach
  void open() throws Exception {
    TestHost.require(Feature.ROOT);
    disk = SmallDisk.mount(SIZE);
    engine = Engine.open(disk.directory());
  }

  @AfterEach
  void close() throws Exception {
    if (disk != null) {
      disk.free();
      if (engine != null) {
        engine.close();
      }
      disk.close();
    }
  }

  private ExecResult run(Box box, ExecSpec spec) throws InterruptedException {
    return Workbench.await(engine.start(box, spec));
  }

  private Box detachedBox() {
    Box box = engine.create(BoxSpec.defaults());
    box.detach(Optional.empty(), Map.of());
    return box;
  }

  private static String numbers(int count) {
    return IntStream.rangeClosed(1, count)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining("\n", "", "\n"));
  }

  @Test
  void onAFullDiskLittleOutputIsCompleteAndMuchIsReportedAsLost() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    disk.fill();
    Exec few = engine.start(box, sh("echo few; echo err >&2"));
    assertThat(Workbench.await(few).cause()).isEqualTo(new Exited(0));
    assertThat(text(few.stdout()) + text(few.stderr())).isEqualTo("few\nerr\n");

    Exec much = engine.start(box, sh("head -c 30000 /dev/zero; echo err >&2"));
    ExecResult result = Workbench.await(much);
    assertThat(result.cause()).isEqualTo(new OutputLost(new Exit(0, 0)));
    assertThat(result.cause().status()).isEqualTo("output-lost");
    assertThat(result.cause().code()).isEqualTo(125);
    assertThat(result.loss()).isEqualTo(new OutputLoss(30000 - KEPT, 0, ENOSPC));
    assertThat(bytes(much.stdout())).isEqualTo(new byte[KEPT]);
    assertThat(text(much.stderr())).isEqualTo("err\n");
    assertThat(result.truncated()).isFalse();
    engine.release(box);
  }

  @Test
  void aDiskThatBecomesFullHasWhatItTook() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    Exec exec = engine.start(box, sh("seq 1000000; exit 3"));
    ExecResult result = Workbench.await(exec);
    String all = numbers(1_000_000);
    assertThat(result.cause()).isEqualTo(new OutputLost(new Exit(3, 0)));
    assertThat(result.stdoutSize()).isBetween(1L << 20, SIZE);
    assertThat(result.stdoutSize() + result.loss().stdout()).isEqualTo(all.length());
    assertThat(text(exec.stdout()).equals(all.substring(0, (int) result.stdoutSize()))).isTrue();
    engine.release(box);
  }

  @Test
  void aDiskThatFlapsLeavesNoGap() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    String script = "seq 100000; read go; seq 100000; echo . >&2; read go; seq 100000";
    Exec exec = engine.start(box, sh(script).withInput());
    String part = numbers(100_000);
    eventually().until(() -> exec.stdout().size() == part.length());
    disk.fill();
    exec.stdin().orElseThrow().write("\n".getBytes(US_ASCII), 0, 1);
    eventually().until(() -> text(exec.stderr()).equals(".\n"));
    disk.free();
    exec.stdin().orElseThrow().write("\n".getBytes(US_ASCII), 0, 1);
    ExecResult result = Workbench.await(exec);
    assertThat(result.cause()).isInstanceOf(OutputLost.class);
    assertThat(result.stdoutSize()).isGreaterThanOrEqualTo(part.length());
    assertThat(result.stdoutSize() + result.loss().stdout()).isEqualTo(3L * part.length());
    String stored = part.repeat(3).substring(0, (int) result.stdoutSize());
    assertThat(text(exec.stdout()).equals(stored)).isTrue();
    assertThat(run(box, sh("seq 100000")).cause()).isEqualTo(new Exited(0));
    engine.release(box);
  }

  @Test
  void anotherCauseIsReportedTogetherWithTheLoss() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    disk.fill();
    var spec = sh("head -c 30000 /dev/zero; sleep 100").withTimeout(Duration.ofMillis(500));
    ExecResult result = run(box, spec.withGrace(Duration.ZERO));
    assertThat(result.cause()).isInstanceOf(TimedOut.class);
    assertThat(result.loss()).isEqualTo(new OutputLoss(30000 - KEPT, 0, ENOSPC));
    engine.release(box);
  }

  /** Its logs can be made, but nothing written to them. */
  @Test
  void inADetachedBoxLittleOutputNeedsNoDisk() throws Exception {
    Box box = detachedBox();
    Exec few = engine.start(box, sh("echo ready; read go; echo few").withInput());
    awaitOutput(few, "ready");
    Exec much = engine.start(box, sh("read go; head -c 30000 /dev/zero").withInput());
    disk.fill();
    few.stdin().orElseThrow().write("\n".getBytes(US_ASCII), 0, 1);
    much.stdin().orElseThrow().write("\n".getBytes(US_ASCII), 0, 1);
    assertThat(Workbench.await(few).cause()).isEqualTo(new Exited(0));
    assertThat(text(few.stdout())).isEqualTo("ready\nfew\n");
    ExecResult result = Workbench.await(much);
    assertThat(result.cause()).isEqualTo(new OutputLost(new Exit(0, 0)));
    assertThat(result.loss()).isEqualTo(new OutputLoss(30000 - KEPT, 0, ENOSPC));
    assertThat(bytes(much.stdout())).isEqualTo(new byte[KEPT]);
    engine.release(box);
  }

  /** Nothing but a little room in the last page of its record. */
  @Test
  void inADetachedBoxACommandThatCannotBeWrittenDownIsRefused() throws Exception {
    Box box = detachedBox();
    disk.fill();
    int refused = 0;
    for (int i = 0; i < 20; i++) {
      try {
        assertThat(run(box, sh("echo " + "x".repeat(100))).cause()).isEqualTo(new Exited(0));
      } catch (SandboxException e) {
        assertThat(e.code()).isEqualTo(ErrorCode.SETUP_FAILED);
        assertThat(e).hasMessageContaining("ENOSPC");
        refused++;
      }
    }
    assertThat(refused).isPositive();
    disk.free();
    assertThat(run(box, sh("true")).cause()).isEqualTo(new Exited(0));
    engine.release(box);
  }

  @Test
  void aFileIsReadWholeOnAFullDisk() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    var files = new BoxFiles(box);
    disk.fill();
    files.write("file", 0644, new ByteArrayInputStream(new byte[100_000]));
    assertThat(files.stat("file").size()).isEqualTo(100_000);
    try (var content = files.read("file", 0)) {
      assertThat(content.readAllBytes()).isEqualTo(new byte[100_000]);
    }
    engine.release(box);
  }

  /** A log is removed, or a disk breaks: a reader gets an error, and does not wait. */
  @Test
  void aRemovedLogIsNotFound() throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    Exec exec = engine.start(box, sh("seq 10000"));
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    try (Stream<Path> below = Files.walk(disk.directory())) {
      Files.delete(below.filter(path -> path.endsWith("1.stdout")).findFirst().orElseThrow());
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> exec.stdout().read(0, new byte[10]))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    engine.release(box);
  }
}
