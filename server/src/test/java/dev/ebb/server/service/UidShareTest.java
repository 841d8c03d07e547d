package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.SandboxException;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class UidShareTest {
  private static final OptionalInt MOST = OptionalInt.of(1024);

  @Test
  void tenantsWithManyBoxesLeaveTheLastUidsToOthers() {
    assertThatCode(() -> UidShare.require(MOST, 129, () -> 895)).doesNotThrowAnyException();
    assertThatThrownBy(() -> UidShare.require(MOST, 128, () -> 896))
        .isInstanceOf(SandboxException.class)
        .hasMessage("this tenant has 896 boxes, and the last 128 host uids are for others");
    assertThatCode(() -> UidShare.require(MOST, 128, () -> 0)).doesNotThrowAnyException();
    assertThatCode(() -> UidShare.require(MOST, 1, () -> 15)).doesNotThrowAnyException();
    assertThatThrownBy(() -> UidShare.require(MOST, 1, () -> 16))
        .isInstanceOf(SandboxException.class);
  }

  @Test
  void whereAllBoxesShareOneThereIsNothingToShare() {
    assertThatCode(() -> UidShare.require(OptionalInt.empty(), 0, () -> 5000))
        .doesNotThrowAnyException();
  }
}
