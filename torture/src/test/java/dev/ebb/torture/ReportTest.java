package dev.ebb.torture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.json.Json;
import dev.ebb.oracle.Invariant;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
  private static final String EVIL = "<script>alert('1')</script>\n\"&";
  private static final Settings SETTINGS =
      new Settings(
          Duration.ofMinutes(1), 42, 4, Profile.QUICK, Optional.empty(), Optional.empty(), false);

  private static Report report(boolean violated) {
    var tally = new Tally();
    tally.count(Tally.Group.WORKLOAD, EVIL);
    tally.checked(Invariant.I4, "here", List.of());
    tally.gone(3, Duration.ofMillis(7));
    tally.sample(12);
    tally.daemonKilled();
    if (violated) {
      tally.broken(Invariant.I1, EVIL, "worker 1 round 2");
    }
    return tally.report(SETTINGS, EVIL);
  }

  @Test
  void aViolationIsReportedWithTheSeedAndTheRound() {
    assertThat(report(true).isClean()).isFalse();
    assertThat(report(true).text()).contains("VIOLATION I1", "worker 1 round 2", "--seed 42");
    assertThat(report(false).isClean()).isTrue();
    assertThat(report(false).text()).doesNotContain("VIOLATION").endsWith("nothing was left");
  }

  @Test
  void thePageEscapesWhatItDidNotWriteAndNeedsNothingElse() {
    String page = new ReportPage(report(true)).html();
    assertThat(page).doesNotContain("<script", "http:", "https:", "src=", "href=").contains("<svg");
    assertThat(page).contains("&lt;script&gt;alert(&#39;1&#39;)");
  }

  @Test
  void theFilesAreThereAndTheJsonIsJson(@TempDir Path directory) throws Exception {
    report(true).write(directory.resolve("deeper"));
    byte[] json = Files.readAllBytes(directory.resolve("deeper/report.json"));
    var read =
        Json.readObject(
            new String(json, StandardCharsets.UTF_8).strip().getBytes(StandardCharsets.UTF_8));
    assertThat(read.number("seed")).isEqualTo(42);
    assertThat(read.isTrue("clean")).isFalse();
    assertThat(read.objects("violations").getFirst().string("what")).contains(EVIL);
    assertThat(directory.resolve("deeper/report.html")).isNotEmptyFile();
    assertThat(directory.resolve("deeper/report.txt")).isNotEmptyFile();
  }
}
