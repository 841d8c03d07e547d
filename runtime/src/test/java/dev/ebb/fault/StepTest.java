package dev.ebb.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of crash points, and the page that prints it. */
final class StepTest {
  @Test
  void thePrintedTableIsTheOneInTheCode() throws IOException {
    var rows =
        Stream.of(Step.values())
            .map(
                step ->
                    "| %s | `%s` | %s | %s |"
                        .formatted(
                            step.phase().wireName(),
                            step,
                            step.errno().map(Errno::name).orElse("–"),
                            step.proof()))
            .toList();
    List<String> printed =
        Files.readAllLines(TestHost.root().resolve("docs/crash-points.md")).stream()
            .filter(line -> line.startsWith("| ") && line.contains("`"))
            .toList();
    assertThat(printed).isEqualTo(rows);
  }

  @Test
  void everyStepProvesSomethingOfItsOwn() {
    assertThat(Step.values()).extracting(Step::proof).doesNotHaveDuplicates();
  }

  @Test
  void everyStepStandsInTheProduct() throws IOException {
    var text = new StringBuilder();
    try (var sources = Files.walk(TestHost.root().resolve("runtime/src/main/java"))) {
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
        text.append(Files.readString(source));
      }
    }
    var missing = new ArrayList<Step>();
    for (Step step : Step.values()) {
      if (text.indexOf("Step." + step) < 0) {
        missing.add(step);
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void withoutThePropertyNothingIsArmedAndNothingCanBe() throws Exception {
    assertThat(Fault.IS_TEST).isFalse();
    for (Step step : Step.values()) {
      step.reach();
    }
    assertThatThrownBy(() -> Faults.fail(Step.SPAWN, Errno.EAGAIN))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aFaultThatNamesNoStepIsRefused() {
    assertThatThrownBy(() -> Fault.parse("NOWHERE:crash"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Fault.parse("SPAWN:EODD"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
