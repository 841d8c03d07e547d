package dev.ebb.engine;

import dev.ebb.code.Cell;
import java.util.List;
import java.util.Optional;

/**
 * The result of code in a context.
 *
 * @param result how it ended
 * @param shown what it has shown: results, pictures, tables
 * @param thrown the error that ended it
 */
public record CellAnswer(
    Cell.Result result,
    CapturedOutput stdout,
    CapturedOutput stderr,
    List<Cell.Shown> shown,
    Optional<Cell.Thrown> thrown) {
  public CellAnswer {
    shown = List.copyOf(shown);
  }
}
