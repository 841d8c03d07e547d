package dev.ebb.model;

import static dev.ebb.box.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LimitsTest {
  private static final Limits DEFAULTS = Limits.defaults();

  private static void refused(String message, Function<Limits, Limits> change) {
    assertRefused(ErrorCode.BAD_REQUEST, message, () -> change.apply(DEFAULTS));
  }

  @Test
  void everyLimitHasADefault() {
    assertThat(DEFAULTS.memory()).isEqualTo(ByteSize.mebibytes(512));
    assertThat(DEFAULTS.pids()).isEqualTo(128);
    assertThat(DEFAULTS.cpus()).isPositive();
    assertThat(DEFAULTS.disk()).isEqualTo(ByteSize.mebibytes(256));
    assertThat(DEFAULTS.temporary()).isEqualTo(ByteSize.mebibytes(64));
  }

  @Test
  void aChangeChangesNothingElse() {
    assertThat(DEFAULTS.withMemory(ByteSize.mebibytes(4)))
        .isEqualTo(
            new Limits(
                ByteSize.mebibytes(4),
                DEFAULTS.pids(),
                DEFAULTS.cpus(),
                DEFAULTS.disk(),
                DEFAULTS.temporary()));
    assertThat(
            DEFAULTS
                .withPids(1)
                .withCpus(0.01)
                .withDisk(new ByteSize(1))
                .withTemporary(new ByteSize(2)))
        .isEqualTo(new Limits(DEFAULTS.memory(), 1, 0.01, new ByteSize(1), new ByteSize(2)));
  }

  @Test
  void tooLittleMemoryIsRefused() {
    refused("memory must be at least 4m", limits -> limits.withMemory(new ByteSize(4194303)));
  }

  @Test
  void tooFewOrTooManyPidsAreRefused() {
    refused("pids must be at least 1", limits -> limits.withPids(0));
    refused("pids must be at least 1", limits -> limits.withPids(-1));
    refused("pids must be at most 4194304", limits -> limits.withPids(4194305));
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.009, -1, 4097, Double.NaN, Double.POSITIVE_INFINITY})
  void impossibleCpusAreRefused(double cpus) {
    refused("cpus must be between 0.01 and 4096", limits -> limits.withCpus(cpus));
  }

  @Test
  void noDiskAtAllIsRefused() {
    String message = "disk and tmp must be more than nothing";
    refused(message, limits -> limits.withDisk(new ByteSize(0)));
    refused(message, limits -> limits.withTemporary(new ByteSize(0)));
  }
}
