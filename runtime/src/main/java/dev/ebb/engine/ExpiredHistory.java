package dev.ebb.engine;

import dev.ebb.box.BoxEnd;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.store.Instance;
import dev.ebb.store.RecordStore;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;

/**
 * Ended boxes of the previous daemon that are older than the history. They are not adopted, only
 * removed. The next daemon finds those again that this daemon does not remove. Not thread-safe.
 */
final class ExpiredHistory {
  private static final Logger LOG = System.getLogger(ExpiredHistory.class.getName());

  /** The kinds of ledger lines that an ended box still has. */
  private static final Set<Kind> OF_THE_PAST = Set.of(Kind.DIRECTORY, Kind.RECORD);

  private final Instance instance;
  private final RecordStore records;
  private final Queue<Ended> left = new ArrayDeque<>();

  private record Ended(String box, List<Holding> holdings, Instant at) {}

  ExpiredHistory(Instance instance, RecordStore records) {
    this.instance = instance;
    this.records = records;
  }

  /**
   * Removes the expired boxes from {@code boxes}.
   *
   * @param boxes the ledger lines of each box
   */
  void takeFrom(Map<String, List<Holding>> boxes, History history) {
    var ended = new ArrayList<Ended>();
    boxes.forEach((box, holdings) -> addIfEnded(box, holdings, ended));
    left.addAll(history.expired(ended, Ended::at, Instant.now()));
    left.forEach(each -> boxes.remove(each.box()));
    if (!left.isEmpty()) {
      LOG.log(Level.INFO, "event=history_expired boxes={0}", left.size());
    }
  }

  private void addIfEnded(String box, List<Holding> holdings, List<Ended> ended) {
    if (holdings.stream().allMatch(held -> OF_THE_PAST.contains(held.kind()))) {
      try {
        BoxEnd.at(records.box(box)).ifPresent(at -> ended.add(new Ended(box, holdings, at)));
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "event=end_not_read box=" + box + " ignoring: adoption reports it", e);
      }
    }
  }

  /** Removes up to {@code most} boxes, and strikes their lines in one write. */
  void remove(int most) throws KernelException {
    var gone = new ArrayList<Holding>();
    for (int i = 0; i < most && !left.isEmpty(); i++) {
      Ended next = left.remove();
      try {
        Step.REMOVE_LOGS.reach();
        instance.logs(next.box()).remove();
        gone.addAll(next.holdings());
      } catch (KernelException e) {
        LOG.log(Level.WARNING, "event=forget_failed box=" + next.box() + " left_alone=true", e);
      }
    }
    Step.STRIKE_LOGS.reach();
    instance.ledger().strike(gone);
  }
}
