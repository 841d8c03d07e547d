package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.ByteSize;
import org.junit.jupiter.api.Test;

/** The share of a host that waiting boxes may take. */
final class PoolRoomTest {
  private static final long GIBIBYTE = 1L << 30;

  @Test
  void aSmallContainerHasRoomForFew() {
    var room = PoolRoom.of(300, 1024, GIBIBYTE / 2);
    assertThat(room).isEqualTo(new PoolRoom(9, ByteSize.mebibytes(64)));
    assertThat(room.preloaded()).isEqualTo(ByteSize.mebibytes(16));
    assertThat(PoolRoom.of(300, 256, GIBIBYTE).boxes()).isEqualTo(4);
    assertThat(PoolRoom.of(20, 1024, GIBIBYTE).boxes()).as("one at least").isEqualTo(1);
  }

  @Test
  void pressureTakesRoom() {
    var room = PoolRoom.of(32_768, 65_536, 16 * GIBIBYTE);
    assertThat(room.butAtMost(3)).isEqualTo(new PoolRoom(3, room.memory()));
    assertThat(room.butAtMost(Integer.MAX_VALUE)).isEqualTo(room);
  }
}
