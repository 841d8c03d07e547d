package dev.ebb.server.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import org.junit.jupiter.api.Test;

class BodyRoomTest {
  private final BodyRoom room = new BodyRoom(100);

  @Test
  void togetherTheyHaveAsMuchAsThereIs() {
    try (var one = room.new Place(10)) {
      try (var two = room.new Place(10)) {
        one.add(60);
        two.add(60);
        assertThatThrownBy(() -> one.add(1))
            .isInstanceOfSatisfying(
                SandboxException.class,
                e -> {
                  assertThat(e.code()).isEqualTo(ErrorCode.PRESSURE);
                  assertThat(e.retryAfter()).isPositive();
                })
            .hasMessageContaining("100 bytes together");
      }
      one.add(50);
    }
    try (var all = room.new Place(0)) {
      all.add(100);
    }
  }

  @Test
  void whatIsShortGoesInAnyway() {
    try (var large = room.new Place(0);
        var small = room.new Place(10)) {
      large.add(100);
      small.add(4);
      small.add(6);
      assertThatThrownBy(() -> small.add(1)).isInstanceOf(SandboxException.class);
      assertThatThrownBy(() -> room.new Place(10).add(11)).isInstanceOf(SandboxException.class);
    }
  }

  @Test
  void inASmallHeapThereIsRoomForOne() {
    long more = 2 * Runtime.getRuntime().maxMemory();
    assertThatCode(() -> BodyRoom.ofHeap(more).new Place(0).add(more)).doesNotThrowAnyException();
  }
}
