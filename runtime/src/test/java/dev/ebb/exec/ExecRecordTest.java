package dev.ebb.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.OutputLoss;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ExecRecordTest {
  private static final Instant AT = Instant.ofEpochMilli(1_700_000_000_123L);

  private static final ExecSpec SPEC =
      ExecSpec.of("sh", "-c", "echo 'a b' = %")
          .withWorkdir("/tmp/a b")
          .withTimeout(Duration.ofMillis(1234))
          .withKeep();

  private static ExecRecord record(ExecSpec spec) {
    return new ExecRecord(3, spec, AT, 5, ExecInput.State.OPEN, Optional.empty());
  }

  @Test
  void aStartIsReadAsItWas() throws Exception {
    for (ExecSpec spec :
        List.of(SPEC, SPEC.withTerminal(10, 20), SPEC.withOperator().withInput())) {
      assertThat(ExecRecord.of(List.of(record(spec).entry()))).containsExactly(record(spec));
    }
  }

  @Test
  void whatIsSecretIsNotWrittenDown() throws Exception {
    var entry = record(SPEC.withEnvironment(Map.of("TOKEN", "secret"))).entry();
    assertThat(ExecRecord.of(List.of(entry))).containsExactly(record(SPEC));
  }

  @Test
  void theInputIsAsItWasSaidLast() throws Exception {
    for (ExecInput.State state : ExecInput.State.values()) {
      var read = ExecRecord.of(List.of(record(SPEC).entry(), ExecRecord.input(3, state)));
      assertThat(read).singleElement().extracting(ExecRecord::input).isEqualTo(state);
    }
  }

  static List<ExitCause> causes() {
    var last = new Exit(0, 9);
    return List.of(
        new ExitCause.Exited(7),
        new ExitCause.Signalled(11),
        new ExitCause.TimedOut(last),
        new ExitCause.OutOfMemory(last),
        new ExitCause.OutputLimit(last),
        new ExitCause.OutputLost(last),
        new ExitCause.Killed(new Exit(143, 0)),
        new ExitCause.NotStarted(127, "x: not found"),
        new ExitCause.Lost(),
        new ExitCause.Stuck(List.of()));
  }

  @ParameterizedTest
  @MethodSource("causes")
  void anEndIsReadAsItWas(ExitCause cause) throws Exception {
    var result =
        new ExecResult(
            cause,
            10,
            20,
            true,
            new OutputLoss(30, 40, 28),
            new CgroupUsage(Duration.ofNanos(5), 6, 7, 8, 9),
            new ExecResult.Leftovers(2, List.of(new ExecResult.Kept(12, "sleep 5"))),
            Duration.ofNanos(77));
    var read = ExecRecord.of(List.of(record(SPEC).entry(), ExecRecord.ended(3, result)));
    assertThat(read).singleElement().extracting(ExecRecord::end).isEqualTo(Optional.of(result));
  }
}
