package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ReserveTest {
  private static long open() throws Exception {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }

  @Test
  void whatIsSpentIsFreeUntilItIsTakenBack() throws Exception {
    long before = open();
    try (var scope = new Scope()) {
      Reserve reserve = Reserve.open(scope, 20);
      assertThat(open()).isEqualTo(before + 21);
      assertThat(Reserve.spend()).isTrue();
      assertThat(Reserve.spent()).isEqualTo(8);
      assertThat(open()).isEqualTo(before + 13);
      reserve.spendAll();
      assertThat(Reserve.spent()).isEqualTo(20);
      assertThat(Reserve.spend()).isFalse();
      assertThat(reserve.takeBack()).isTrue();
      assertThat(Reserve.spent()).isZero();
      assertThat(open()).isEqualTo(before + 21);
    }
    assertThat(open()).isEqualTo(before);
    assertThat(Reserve.spend()).isFalse();
  }

  @Test
  void aProcessHasOneAtMost() throws Exception {
    try (var scope = new Scope()) {
      Reserve.open(scope, 1);
      assertThatThrownBy(() -> Reserve.open(scope, 1)).isInstanceOf(IllegalStateException.class);
    }
    try (var scope = new Scope()) {
      Reserve.open(scope, 1);
    }
  }
}
