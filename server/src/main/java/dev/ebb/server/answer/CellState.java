package dev.ebb.server.answer;

import dev.ebb.code.Cell;
import dev.ebb.exec.Segment;
import dev.ebb.model.OutputLoss;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.service.TenantContext;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A cell that has ended.
 *
 * @param output the beginning of its output; empty if output and displays were sent before
 * @param unread stored output that can no longer be read, and is lost as well
 */
public record CellState(
    TenantContext context,
    Cell cell,
    Cell.Result result,
    boolean isWhole,
    Optional<OutputStart> output,
    OutputLoss unread) {
  /** Makes the state of a cell whose output was sent as events; some of it could not be read. */
  public static CellState sent(TenantContext context, Cell cell, OutputLoss unread) {
    return new CellState(
        context, cell, cell.result().orElseThrow(), false, Optional.empty(), unread);
  }

  /** Makes the state with output and displays. */
  public static CellState whole(Exchange exchange, TenantContext context, Cell cell)
      throws InterruptedException {
    Cell.Result result = cell.result().orElseThrow();
    if (cell.segment().isEmpty()) {
      return new CellState(context, cell, result, true, Optional.empty(), OutputLoss.NONE);
    }
    OutputStart output = OutputStart.read(exchange, cell.segment().get());
    return new CellState(context, cell, result, true, Optional.of(output), output.unread());
  }

  public Optional<Segment> segment() {
    return cell.segment();
  }

  /** A cell with missing output did not succeed. */
  public Cell.Outcome outcome() {
    return unread.isAny() && result.outcome() == Cell.Outcome.OK
        ? Cell.Outcome.OUTPUT_LOST
        : result.outcome();
  }

  public Optional<Integer> exitCode() {
    return Optional.of(result.status()).filter(_ -> context.order().runner().hasStatus());
  }

  public Optional<OutputLoss> lost() {
    OutputLoss stored = segment().map(Segment::loss).orElse(OutputLoss.NONE);
    return Optional.of(stored.plus(unread)).filter(OutputLoss::isAny);
  }

  public boolean isCut() {
    return cell.isCut() || output.filter(OutputStart::isCut).isPresent();
  }

  public Optional<Map<String, byte[]>> shownResult() {
    return isWhole
        ? cell.shown(0).stream()
            .filter(Cell.Shown::isResult)
            .reduce((_, last) -> last)
            .map(Cell.Shown::forms)
        : Optional.empty();
  }

  public Optional<List<Map<String, byte[]>>> displays() {
    return isWhole
        ? Optional.of(
            cell.shown(0).stream().filter(each -> !each.isResult()).map(Cell.Shown::forms).toList())
        : Optional.empty();
  }
}
