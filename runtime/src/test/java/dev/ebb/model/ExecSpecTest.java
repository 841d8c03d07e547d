package dev.ebb.model;

import static dev.ebb.box.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExecSpecTest {
  private static final ExecSpec PLAIN = ExecSpec.of("true");

  private static void refused(String message, Function<ExecSpec, ExecSpec> change) {
    assertRefused(ErrorCode.BAD_REQUEST, message, () -> change.apply(PLAIN));
  }

  @Test
  void everyLimitHasADefault() {
    assertThat(PLAIN.timeout()).isEqualTo(Duration.ofMinutes(5));
    assertThat(PLAIN.grace()).isEqualTo(Duration.ofSeconds(5));
    assertThat(PLAIN.outputLimit()).isEqualTo(ByteSize.mebibytes(16));
    assertThat(PLAIN.openFiles()).isEqualTo(1024);
    assertThat(PLAIN.fileSize()).isEqualTo(ByteSize.mebibytes(256));
    assertThat(PLAIN.workdir()).isEqualTo("/workspace");
    assertThat(PLAIN.takesInput()).isFalse();
    assertThat(PLAIN.keep()).isFalse();
  }

  @Test
  void everyChangeIsKept() {
    var environment = Map.of("A", "1");
    var spec =
        ExecSpec.of("a", "b")
            .withEnvironment(environment)
            .withWorkdir("/tmp")
            .withTimeout(Duration.ZERO)
            .withGrace(Duration.ofMillis(1))
            .withOutputLimit(new ByteSize(2))
            .withOpenFiles(3)
            .withFileSize(new ByteSize(4))
            .withInput()
            .withKeep();
    assertThat(spec)
        .isEqualTo(
            new ExecSpec(
                List.of("a", "b"),
                environment,
                "/tmp",
                Duration.ZERO,
                Duration.ofMillis(1),
                new ByteSize(2),
                3,
                new ByteSize(4),
                true,
                true,
                ExecKind.COMMAND,
                false));
  }

  @Test
  void aTerminalTakesInputAndKeepsTheRest() {
    var spec = ExecSpec.of("a").withKeep().withTerminal(24, 80);
    assertThat(spec.kind()).isEqualTo(new ExecKind.Terminal(24, 80));
    assertThat(spec.takesInput()).isTrue();
    assertThat(spec.withTimeout(Duration.ZERO).kind()).isEqualTo(spec.kind());
    assertThat(spec.withKeep().withInput()).isEqualTo(spec);
  }

  @Test
  void aTerminalHasASize() {
    refused("a terminal cannot have 0 rows and 80 columns", changed -> changed.withTerminal(0, 80));
    refused(
        "a terminal cannot have 24 rows and 65536 columns",
        changed -> changed.withTerminal(24, 65_536));
    assertThat(PLAIN.withTerminal(65_535, 1).kind()).isEqualTo(new ExecKind.Terminal(65_535, 1));
  }

  @Test
  void noCommandIsRefused() {
    assertRefused(ErrorCode.BAD_REQUEST, "no command given", ExecSpec::of);
    assertRefused(ErrorCode.BAD_REQUEST, "no command given", () -> ExecSpec.of("", "a"));
  }

  @Test
  void aNulIsRefusedWhereverItIs() {
    assertRefused(
        ErrorCode.BAD_REQUEST, "the command holds a NUL character", () -> ExecSpec.of("a", "b\0"));
    refused(
        "the environment holds a NUL character", spec -> spec.withEnvironment(Map.of("A", "b\0")));
    refused(
        "the environment holds a NUL character", spec -> spec.withEnvironment(Map.of("A\0", "b")));
    refused("the working directory holds a NUL character", spec -> spec.withWorkdir("/\0"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "A=B", "="})
  void aVariableWithoutANameOfItsOwnIsRefused(String name) {
    refused(
        "bad environment variable \"" + name + "\"",
        spec -> spec.withEnvironment(Map.of(name, "value")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "relative", "./x"})
  void aRelativeWorkingDirectoryIsRefused(String directory) {
    refused(
        "working directory \"" + directory + "\" is not absolute",
        spec -> spec.withWorkdir(directory));
  }

  @Test
  void negativeTimeIsRefused() {
    refused("a duration cannot be negative", spec -> spec.withTimeout(Duration.ofMillis(-1)));
    refused("a duration cannot be negative", spec -> spec.withGrace(Duration.ofMillis(-1)));
  }

  @Test
  void tooFewOpenFilesAreRefused() {
    refused("open files must be at least 3", spec -> spec.withOpenFiles(2));
  }

  @Test
  void aSpecDoesNotChangeWithItsArguments() {
    var environment = new LinkedHashMap<>(Map.of("A", "1"));
    var spec = PLAIN.withEnvironment(environment);
    environment.clear();
    assertThat(spec.environment()).containsExactly(Map.entry("A", "1"));
  }
}
