package dev.ebb.server.service;

import dev.ebb.box.BoxEnd;
import dev.ebb.box.PastBox;
import dev.ebb.engine.Engine;
import dev.ebb.engine.PastBoxes;
import dev.ebb.exec.EndedExec;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The record of an ended box in the history. It does not refer to the box, which is garbage once no
 * request uses it.
 *
 * @param number of its entry in {@link PastBoxes}; {@link PastBoxes#NONE}: no entry
 * @param retry empty unless its output could not be removed
 */
record EndedBox(
    BoxId id, BoxNote note, BoxEnd end, List<EndedExec> execs, int number, Optional<Retry> retry) {
  private static final Logger LOG = System.getLogger(EndedBox.class.getName());

  EndedBox {
    execs = List.copyOf(execs);
  }

  /** A failed removal, which is retried. */
  record Retry(Certificate certificate, int failures, Instant next) {}

  /** Restores a record that an earlier daemon wrote. */
  static EndedBox of(int number, PastBox past, Instant now, Engine engine) {
    BoxEnd end = past.end().orElseGet(() -> withDaemon(past.id(), now));
    var note = BoxNote.parse(past.note(), past.spec());
    return new EndedBox(
        past.id(), note, end, execs(past, engine.logs(past.id())), number, Optional.empty());
  }

  /** The end of a box whose daemon died; the next daemon releases its remains. */
  private static BoxEnd withDaemon(BoxId id, Instant now) {
    return new BoxEnd(now, nothing(id), BoxEnding.note(EndedBy.DAEMON));
  }

  /** The certificate of a box that holds nothing. */
  static Certificate nothing(BoxId id) {
    return new Certificate(id.value(), Map.of(), Map.of(), List.of(), Duration.ZERO);
  }

  private static List<EndedExec> execs(PastBox past, LogDirectory logs) {
    var execs = new ArrayList<EndedExec>();
    for (JournalEntry entry : past.execs()) {
      try {
        execs.add(EndedExec.parse(entry, logs));
      } catch (IOException | RuntimeException e) {
        LOG.log(Level.WARNING, "event=history_entry_skipped box=" + past.id(), e);
      }
    }
    return execs;
  }

  /** Returns the entry for the next daemon. */
  PastBox past() {
    return new PastBox(
        id,
        note.order().spec(),
        note.fields(),
        Optional.of(end),
        execs.stream().map(EndedExec::entry).toList());
  }

  Instant endedAt() {
    return end.at();
  }

  Optional<EndedBy> endedBy() {
    return BoxEnding.reason(end);
  }

  /** Returns the certificate; empty if its daemon died before it made one. */
  Optional<Certificate> certificate() {
    return retry
        .map(Retry::certificate)
        .or(() -> Optional.of(end.certificate()).filter(_ -> !diedWithDaemon()));
  }

  private boolean diedWithDaemon() {
    return endedBy().equals(Optional.of(EndedBy.DAEMON));
  }

  BoxState state() {
    return retry.isPresent() ? BoxState.STUCK : BoxState.GONE;
  }

  EndedBox withNumber(int next) {
    return new EndedBox(id, note, end, execs, next, retry);
  }

  EndedBox withoutExecs() {
    return new EndedBox(id, note, end, List.of(), number, retry);
  }

  /** Returns a copy whose output could not be removed now. */
  EndedBox stuck(Certificate certificate, Instant now) {
    int failures = retry.map(Retry::failures).orElse(0) + 1;
    Instant next = now.plus(BoxEnding.STUCK.after(failures));
    return new EndedBox(
        id, note, end, execs, number, Optional.of(new Retry(certificate, failures, next)));
  }

  boolean isToBeTried(Instant now) {
    return retry.filter(failed -> now.isAfter(failed.next())).isPresent();
  }
}
