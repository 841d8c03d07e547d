package dev.ebb.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.CellOrder;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What cells may show, all together, is bounded: none may keep what nobody will look at. */
class CellTest {
  private static final int MUCH = 1 << 20;

  private final ShowRoom room = ShowRoom.bounded(2 * MUCH);

  private Cell cell() {
    var order = new CellOrder("1", Map.of(), Duration.ofSeconds(1), Duration.ZERO);
    return new Cell(1, order, "nonce", room);
  }

  @Test
  void whatIsShownToNobodyTakesNoRoom() {
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
  void whatWasShownIsGivenBack() {
    for (int i = 0; i < 1000; i++) {
      try (Cell cell = cell()) {
        assertThat(cell.reserve(MUCH)).isTrue();
      }
    }
  }
}
