package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.admission.PressureSettings;
import dev.ebb.admission.Thresholds;
import dev.ebb.code.Cell;
import dev.ebb.code.CodeRequest;
import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.code.Written;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Holding;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A program that embeds the engine runs commands, code and contexts without a daemon. */
@Tag("kernel")
@LeakChecked
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class EmbeddedRunsKernelTest {
  private static final BoxSpec BOX = BoxSpec.defaults();

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final Languages languages = Languages.ofHost();
  private Engine engine;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
  }

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void codeRunsAndItsFilesAreReported() throws Exception {
    String program = "import sys; open('a.txt', 'w').write('hi'); print(6 * 7); sys.exit(3)";
    CodeAnswer answer = engine.runCode(BOX, CodeRequest.of(languages.require("python"), program));
    assertThat(answer.outcome()).isEqualTo("failed");
    assertThat(answer.cause()).isEqualTo(new ExitCause.Exited(3));
    assertThat(answer.stdout().text()).isEqualTo("42\n");
    assertThat(answer.written().orElseThrow().files())
        .extracting(Written.File::path)
        .contains("a.txt");
    assertThat(answer.certificate().isClean()).isTrue();
    assertNoBoxIsLeft();
  }

  @Test
  void codeThatDoesNotCompileNeverRuns() throws Exception {
    CodeAnswer answer = engine.runCode(BOX, CodeRequest.of(languages.require("c"), "int main("));
    assertThat(answer.outcome()).isEqualTo("compile-error");
    assertThat(answer.written()).isEmpty();
    assertThat(answer.stderr().text()).contains("error");
    assertThat(answer.certificate().isClean()).isTrue();
  }

  @Test
  void aContextKeepsItsStateAndIsReleasedAtItsEnd() throws Exception {
    try (CodeContext context = engine.openContext(BOX, Runner.PYTHON)) {
      assertThat(context.run("x = 20").result().outcome()).isEqualTo(Cell.Outcome.OK);
      assertThat(context.run("print(x + 1)").stdout().text()).isEqualTo("21\n");
      assertThat(context.run("1 / 0").thrown().orElseThrow().name()).isEqualTo("ZeroDivisionError");
      assertThat(context.end().isClean()).isTrue();
    }
    assertNoBoxIsLeft();
  }

  @Test
  void nothingBeginsWhenTheHostIsFull() throws Exception {
    // Every host uses more than this of something.
    var none = new Thresholds(0.00001, 0.00002, 0.00003, 0);
    engine.admit(new PressureSettings(none, 1, Duration.ZERO, Duration.ofSeconds(10)));
    List<Begin> begins =
        List.of(
            () -> engine.create(BOX),
            () -> engine.run(BOX, ExecSpec.of("true")),
            () -> engine.runCode(BOX, CodeRequest.of(languages.require("bash"), "true")),
            () -> engine.openContext(BOX, Runner.BASH));
    for (Begin begin : begins) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(begin::run)
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.PRESSURE));
    }
    assertNoBoxIsLeft();
  }

  @Test
  void anAdmittedCommandRuns() throws Exception {
    engine.admit(PressureSettings.DEFAULT);
    RunResult run = engine.run(BOX, ExecSpec.of("echo", "hello"));
    assertThat(run.stdout().text()).isEqualTo("hello\n");
    assertThat(run.certificate().isClean()).isTrue();
  }

  /** At the level alert one begins at a time: a command that runs keeps nothing from beginning. */
  @Test
  void aLongRunKeepsNoOtherFromBeginning() throws Exception {
    var alert = new Thresholds(0.00001, 0.00002, 100, 0);
    engine.admit(new PressureSettings(alert, 4, Duration.ofSeconds(5), Duration.ofSeconds(10)));
    Thread first =
        Thread.ofVirtual()
            .name("long-run")
            .start(
                () -> {
                  try {
                    engine.run(BOX, ExecSpec.of("sleep", "1000"));
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    try {
      Awaitility.await()
          .atMost(TestHost.patience(Duration.ofSeconds(30)))
          .until(() -> engine.holdings().stream().anyMatch(each -> !each.box().isEmpty()));
      assertThat(engine.run(BOX, ExecSpec.of("echo", "meanwhile")).stdout().text())
          .isEqualTo("meanwhile\n");
      assertThat(first.isAlive()).isTrue();
    } finally {
      first.interrupt();
      first.join();
    }
    assertNoBoxIsLeft();
  }

  @Test
  void runsAreAdmittedInOneWay() {
    engine.admit(PressureSettings.DEFAULT);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engine.admit(PressureSettings.DEFAULT))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));
  }

  private void assertNoBoxIsLeft() {
    assertThat(engine.holdings())
        .extracting(Holding::box)
        .allMatch(box -> box.isEmpty() || box.equals("forkserver"));
  }

  private interface Begin {
    Object run() throws Exception;
  }
}
