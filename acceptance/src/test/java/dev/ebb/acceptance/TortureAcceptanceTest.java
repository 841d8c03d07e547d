package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.json.Json;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code ebb torture}, as a user has it: clean on this host, able to fail, and mortal itself. */
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class TortureAcceptanceTest {
  private static final int KILLED = 137;
  private static final int TERMINATED = 143;

  /** The work, and what the checks and a slow host add to it. */
  private static final Duration PATIENCE = TestHost.patience(Duration.ofMinutes(9));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @TempDir Path reports;

  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void endAll() throws Exception {
    for (Process process : started) {
      process.destroyForcibly().waitFor();
    }
  }

  /** Starts it with both output streams in a file. */
  private Process start(String... options) throws IOException {
    var words = new ArrayList<>(List.of(TestHost.root().resolve("ebb").toString(), "torture"));
    words.addAll(List.of(options));
    var builder = new ProcessBuilder(words).redirectErrorStream(true);
    builder.environment().put("EBB_HOME", host.home().toString());
    builder.environment().put("EBB_BUILD", "never");
    Process process = builder.redirectOutput(outputFile().toFile()).start();
    started.add(process);
    return process;
  }

  private Path outputFile() {
    return reports.resolve("output");
  }

  private int codeOf(Process process) throws Exception {
    assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).as("torture ends").isTrue();
    return process.exitValue();
  }

  private Path side() throws IOException {
    return host.home().resolve("side");
  }

  /** Returns whether a file below the homes of torture matches the name pattern. */
  private boolean has(String glob) throws IOException {
    if (!Files.exists(side())) {
      return false;
    }
    try (var all = Files.walk(side())) {
      var matcher = side().getFileSystem().getPathMatcher("glob:" + side() + "/" + glob);
      return all.anyMatch(matcher::matches);
    } catch (UncheckedIOException e) {
      // The directory changes while the test reads it.
      return false;
    }
  }

  @Test
  void halfAMinuteLeavesNothingAndIsReported() throws Exception {
    leavesNothingAndIsReported("0.5");
  }

  @Test
  @Tag("long")
  void fiveMinutesLeaveNothingAndAreReported() throws Exception {
    leavesNothingAndIsReported("5");
  }

  private void leavesNothingAndIsReported(String minutes) throws Exception {
    int code = codeOf(start("--minutes", minutes, "--seed", "1", "--report", reports.toString()));
    assertThat(code).as(Files.readString(outputFile())).isZero();
    byte[] json = Files.readAllBytes(reports.resolve("report.json"));
    var report = Json.readObject(json);
    assertThat(report.isTrue("clean")).isTrue();
    assertThat(report.number("seed")).isEqualTo(1);
    assertThat(report.object("checks").number("I1")).isPositive();
    assertThat(report.object("counts").object("kill").members()).isNotEmpty();
    assertThat(report.objects("timeToGone")).hasSize(4);
    assertThat(reports.resolve("report.html"))
        .content(StandardCharsets.UTF_8)
        .startsWith("<!doctype html>")
        .contains("<svg", "clean: nothing was left");
    assertThat(reports.resolve("report.txt")).content().contains("time to gone");
    assertThat(side()).doesNotExist();
  }

  @Test
  void theOracleSeesEachPlantedViolation() throws Exception {
    int code = codeOf(start("--oracle-selftest"));
    String text = Files.readString(outputFile());
    assertThat(code).as(text).isZero();
    assertThat(text).contains("seen       I2", "seen       I7", "seen       I8", "seen       I9");
    assertThat(text).contains("seen       I12", "seen       I13", "seen       I14 ");
    assertThat(text).doesNotContain("NOT SEEN", "SEEN EARLY", "LEFT");
    assertThat(side()).doesNotExist();
  }

  @Test
  void whatAKilledOneLeavesIsSwept() throws Exception {
    Process torture = start("--minutes", "10", "--seed", "1");
    // A detached box has a record.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> has("*/instances/*/*/record"));
    torture.destroyForcibly();
    assertThat(codeOf(torture)).isEqualTo(KILLED);
    var swept = new Ebb(host.home()).call("sweep");
    assertThat(swept.code()).as(swept.text() + swept.stderr()).isZero();
    assertThat(swept.text()).contains("released", "side/");
    assertThat(side()).doesNotExist();
    // Its daemon's supervisors have lost their parent: a process above this one reaps those.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () -> {
              TestHost.reapOrphans();
              return HostProcesses.below(ProcessHandle.current().pid()).isEmpty();
            });
  }

  @Test
  void aCancelledTortureEndsCleanly() throws Exception {
    Process torture = start("--minutes", "10", "--seed", "2");
    await().atMost(DaemonProcess.PATIENCE).until(() -> has("*/instances/*/b*"));
    torture.destroy();
    assertThat(codeOf(torture)).as(Files.readString(outputFile())).isEqualTo(TERMINATED);
    assertThat(outputFile()).content().contains("clean: nothing was left");
    assertThat(side()).doesNotExist();
  }

  @Test
  void whatIsNoNumberIsRefused() throws Exception {
    for (String minutes : List.of("0", "-1", "0.001", "NaN", "1e9", "two")) {
      assertThat(codeOf(start("--minutes", minutes))).as(minutes).isEqualTo(125);
    }
    assertThat(codeOf(start("--profile", "gentle"))).isEqualTo(125);
    assertThat(codeOf(start("--seed", "x"))).isEqualTo(125);
  }
}
