package dev.ebb.model;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.ExitCause.Exit;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ExitCauseTest {
  private static final Exit DONE = new Exit(0, 0);
  private static final Exit KILLED = new Exit(0, 9);
  private static final Exit TERMINATED = new Exit(0, 15);

  static Stream<Arguments> table() {
    return Stream.of(
        row(new ExitCause.Exited(0), "exited", 0),
        row(new ExitCause.Exited(1), "exited", 1),
        row(new ExitCause.Exited(130), "exited", 130),
        row(new ExitCause.Exited(255), "exited", 255),
        row(new ExitCause.Exited(124), "exited", 124),
        row(new ExitCause.Exited(137), "killed", 137),
        row(new ExitCause.Exited(143), "killed", 143),
        row(new ExitCause.Signalled(9), "killed", 137),
        row(new ExitCause.Signalled(11), "killed", 139),
        row(new ExitCause.Signalled(15), "killed", 143),
        row(new ExitCause.TimedOut(DONE), "timed-out", 124),
        row(new ExitCause.TimedOut(KILLED), "timed-out", 124),
        row(new ExitCause.OutOfMemory(KILLED), "out-of-memory", 137),
        row(new ExitCause.OutputLimit(DONE), "output-limit", 137),
        row(new ExitCause.OutputLost(DONE), "output-lost", 125),
        row(new ExitCause.Killed(KILLED), "killed", 137),
        row(new ExitCause.Killed(TERMINATED), "killed", 143),
        row(new ExitCause.Killed(new Exit(3, 0)), "killed", 3),
        row(new ExitCause.Killed(DONE), "killed", 143),
        row(new ExitCause.NotStarted(126, "is a directory"), "not-started", 126),
        row(new ExitCause.NotStarted(127, "not found"), "not-started", 127),
        row(new ExitCause.Lost(), "lost", 125),
        row(
            new ExitCause.Stuck(List.of(new StuckProcess(17, 'D', "io_schedule", ""))),
            "stuck",
            125));
  }

  private static Arguments row(ExitCause cause, String status, int code) {
    return Arguments.of(cause, status, code);
  }

  @ParameterizedTest
  @MethodSource("table")
  void eachCauseHasItsStatusAndCode(ExitCause cause, String status, int code) {
    assertThat(cause.status()).isEqualTo(status);
    assertThat(cause.code()).isEqualTo(code);
  }

  @Test
  void theTableHoldsEveryCause() {
    var held = table().map(row -> requireNonNull(row.get()[0]).getClass().getName()).toList();
    for (Class<?> cause : ExitCause.class.getPermittedSubclasses()) {
      assertThat(held).contains(cause.getName());
    }
  }

  @Test
  void aDescriptionSaysWhatEndedTheCommandAndHow() {
    assertThat(new ExitCause.Exited(3).describe()).isEqualTo("exited with code 3");
    assertThat(new ExitCause.Signalled(11).describe()).isEqualTo("killed by signal 11");
    assertThat(new ExitCause.TimedOut(KILLED).describe())
        .isEqualTo("timed out, killed by signal 9");
    assertThat(new ExitCause.Killed(DONE).describe())
        .isEqualTo("killed on request, exited with code 0");
    assertThat(new ExitCause.NotStarted(127, "no such file").describe())
        .isEqualTo("not started: no such file");
    table()
        .map(row -> ((ExitCause) requireNonNull(row.get()[0])).describe())
        .forEach(text -> assertThat(text).isNotBlank().doesNotContain("[", "="));
  }

  @Test
  void aSignalReadsAsShellsHaveIt() {
    assertThat(TERMINATED.shellCode()).isEqualTo(143);
    assertThat(new Exit(7, 0).shellCode()).isEqualTo(7);
  }
}
