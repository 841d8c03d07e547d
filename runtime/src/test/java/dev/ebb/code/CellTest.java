package dev.ebb.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.CellOrder;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** All cells together may show a bounded amount; a closed cell keeps none of it. */
class CellTest {
  private static final int MUCH = 1 << 20;

  private final ShowRoom room = ShowRoom.bounded(2 * MUCH);

  private Cell cell() {
    var order = new CellOrder("1", Map.of(), Duration.ofSeconds(1), Duration.ZERO);
    return new Cell(1, order, "nonce", room);
  }

  @Test
  void aClosedCellReservesNoRoom() {
    for (int i = 0; i < 1000; i++) {
      Cell cell = cell();
      cell.close();
      assertThat(cell.reserve(MUCH)).isFalse();
    }
    try (Cell cell = cell()) {
      assertThat(cell.reserve(MUCH)).as("room that is left").isTrue();
    }
  }

  @Test
  void theRoomOfAClosedCellIsGivenBack() {
    for (int i = 0; i < 1000; i++) {
      try (Cell cell = cell()) {
        assertThat(cell.reserve(MUCH)).isTrue();
      }
    }
  }
}
