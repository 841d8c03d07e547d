package dev.ebb.cli.operate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cli.output.Documents;
import dev.ebb.engine.Doctor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DoctorCommandTest {
  private static final Doctor.Check PIDS =
      new Doctor.Check("pids", Doctor.Verdict.DEGRADED, "60 processes", "raise it");

  private static Doctor.Check box(Doctor.Verdict verdict) {
    return new Doctor.Check("box", verdict, "a box", "");
  }

  /** A box ran, or it did not: nothing else decides. */
  @ParameterizedTest
  @CsvSource({"OK, 0", "DEGRADED, 125", "FAILED, 125"})
  void onlyABoxThatRanIsSuccess(Doctor.Verdict verdict, int code) {
    assertThat(DoctorCommand.code(List.of(PIDS, box(verdict)))).isEqualTo(code);
    assertThat(DoctorCommand.code(List.of(box(Doctor.Verdict.FAILED), box(verdict))))
        .isEqualTo(code);
  }

  @Test
  void theRemedyStandsBelowTheFinding() {
    assertThat(DoctorCommand.text(List.of(PIDS, box(Doctor.Verdict.OK))))
        .isEqualTo(
            """
            degraded  pids          60 processes
                                    -> raise it
            ok        box           a box
            """);
  }

  @Test
  void programsGetAllOfIt() {
    assertThat(Documents.checks(List.of(PIDS)))
        .isEqualTo(
            "[{\"name\":\"pids\",\"verdict\":\"degraded\",\"finding\":\"60 processes\","
                + "\"remedy\":\"raise it\"}]");
  }
}
