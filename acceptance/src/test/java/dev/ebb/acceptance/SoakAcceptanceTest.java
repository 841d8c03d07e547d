package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code ebb soak}, as a user has it: many runs, few descriptors, and nothing that grows. */
@Tag("kernel")
@LeakChecked
@Timeout(3600)
final class SoakAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofMinutes(50));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @TempDir Path reports;
  @TempDir Path packages;

  private int soak(String runs, String clients) throws Exception {
    var builder =
        new ProcessBuilder(
            TestHost.root().resolve("ebb").toString(),
            "soak",
            "--runs",
            runs,
            "--clients",
            clients,
            "--nofile",
            "1024",
            "--packages",
            packages.toString(),
            "--report",
            reports.toString());
    builder.environment().put("EBB_HOME", host.home().toString());
    builder.environment().put("EBB_BUILD", "never");
    Path output = reports.resolve("output");
    Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    try {
      assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).as("it ends").isTrue();
    } finally {
      process.destroyForcibly().waitFor();
    }
    return process.exitValue();
  }

  /** A few small packages that import each other, like packages of a shared directory. */
  private void makePackages() throws IOException {
    for (int i = 0; i < 5; i++) {
      Path directory = Files.createDirectory(packages.resolve("package" + i));
      String before = i == 0 ? "import json\n" : "import package" + (i - 1) + "\n";
      Files.writeString(directory.resolve("__init__.py"), before + "from . import more\n");
      Files.writeString(directory.resolve("more.py"), "value = " + i + "\n");
    }
  }

  private JsonObject report() throws IOException {
    return Json.readObject(Files.readAllBytes(reports.resolve("report.json")));
  }

  private void runAndRequireFlat(String runs, String clients) throws Exception {
    makePackages();
    assertThat(soak(runs, clients)).as(Files.readString(reports.resolve("output"))).isZero();
    assertThat(report().isTrue("clean")).isTrue();
    assertThat(report().number("runs")).isEqualTo(Long.parseLong(runs));
    assertThat(Files.readString(reports.resolve("report.html")))
        .contains("nothing grew", "<polyline");
  }

  @Test
  @Tag("long")
  void twoThousandRunsWithFewDescriptorsLeaveNothing() throws Exception {
    runAndRequireFlat("2000", "50");
  }

  @Test
  @Tag("long")
  void twentyThousandRunsWithFewDescriptorsLeaveNothing() throws Exception {
    runAndRequireFlat("20000", "50");
  }

  /** The soak checks what a run does: a package that cannot be imported is a failure. */
  @Test
  void aRunWithAWrongResultIsReported() throws Exception {
    Files.writeString(packages.resolve("broken.py"), "raise ImportError('never')\n");
    assertThat(soak("20", "2")).isEqualTo(1);
    assertThat(report().isTrue("clean")).isFalse();
    assertThat(Files.readString(reports.resolve("report.txt"))).contains("FAILED", "never");
  }
}
