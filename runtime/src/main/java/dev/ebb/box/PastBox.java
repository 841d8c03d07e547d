package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The record of a box that does not outlive its daemon: its order and its end.
 *
 * @param note text that a door must remember about it
 * @param end empty: it was alive when this was written
 * @param execs the records of its execs
 */
public record PastBox(
    BoxId id,
    BoxSpec spec,
    Map<String, String> note,
    Optional<BoxEnd> end,
    List<JournalEntry> execs) {
  private static final String MADE = "made";
  private static final String ENDED = "ended";
  private static final String ID = "id";
  private static final String BACKEND = "backend";
  private static final String NOTE = "note-";
  private static final String END = "end";
  private static final String EXEC = "exec";

  /**
   * The maximum size of one record in the history. The latest execs are kept as far as they fit.
   */
  private static final int SIZE_MOST = 256 * 1024;

  public PastBox {
    note = Map.copyOf(note);
    execs = List.copyOf(execs);
  }

  /** Returns it as an entry of a history; empty if it is too large even without execs. */
  public Optional<JournalEntry> entry() {
    JournalEntry entry =
        SpecFields.add(
            JournalEntry.about(end.isPresent() ? ENDED : MADE).with(ID, id.value()), spec);
    if (spec.backend().isPresent()) {
      entry = entry.with(BACKEND, spec.backend().get());
    }
    for (var each : note.entrySet()) {
      entry = entry.with(NOTE + each.getKey(), each.getValue());
    }
    if (end.isPresent()) {
      entry = entry.withEntry(END, end.get().entry());
    }
    return entry.size() > SIZE_MOST ? Optional.empty() : Optional.of(withExecs(entry));
  }

  private JournalEntry withExecs(JournalEntry bare) {
    int left = SIZE_MOST - bare.size();
    int first = execs.size();
    while (first > 0 && left > 0) {
      // Nested entries are escaped once more.
      left -= JournalEntry.about(EXEC).withEntry(EXEC, execs.get(first - 1)).size();
      first -= left > 0 ? 1 : 0;
    }
    JournalEntry entry = bare;
    for (JournalEntry exec : execs.subList(first, execs.size())) {
      entry = entry.withEntry(EXEC, exec);
    }
    return entry;
  }

  /** Parses an entry; empty if it is about something else. */
  public static Optional<PastBox> parse(JournalEntry entry) throws IOException {
    if (!entry.about().equals(MADE) && !entry.about().equals(ENDED)) {
      return Optional.empty();
    }
    try {
      var id = new BoxId(entry.text(ID));
      List<JournalEntry> ends = entry.entries(END);
      return Optional.of(
          new PastBox(
              id,
              spec(entry),
              entry.startingWith(NOTE),
              ends.isEmpty() ? Optional.empty() : Optional.of(BoxEnd.parse(id, ends.getFirst())),
              entry.entries(EXEC)));
    } catch (IllegalArgumentException | SandboxException e) {
      throw new IOException("the record of a box makes no sense: " + e.getMessage(), e);
    }
  }

  private static BoxSpec spec(JournalEntry entry) throws IOException {
    BoxSpec spec = SpecFields.read(entry);
    return entry.find(BACKEND).map(spec::withBackend).orElse(spec);
  }

  /** Returns this box with its end. */
  public PastBox ended(BoxEnd how) {
    return new PastBox(id, spec, note, Optional.of(how), execs);
  }
}
