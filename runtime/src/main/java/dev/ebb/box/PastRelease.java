package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The record of the release of a box that is not listed any more.
 *
 * @param note text that a door must remember about it
 * @param end empty: the release had only begun when this was written
 */
public record PastRelease(BoxId id, Map<String, String> note, Optional<BoxEnd> end) {
  private static final String ABOUT = "release";
  private static final String ID = "id";
  private static final String NOTE = "note-";
  private static final String END = "end";

  public PastRelease {
    note = Map.copyOf(note);
  }

  /** Returns it as an entry of a journal. */
  public JournalEntry entry() {
    JournalEntry entry = JournalEntry.about(ABOUT).with(ID, id.value());
    for (var each : note.entrySet()) {
      entry = entry.with(NOTE + each.getKey(), each.getValue());
    }
    return end.isPresent() ? entry.withEntry(END, end.get().entry()) : entry;
  }

  /** Parses an entry; empty if it is about something else. */
  public static Optional<PastRelease> parse(JournalEntry entry) throws IOException {
    if (!entry.about().equals(ABOUT)) {
      return Optional.empty();
    }
    try {
      var id = new BoxId(entry.text(ID));
      List<JournalEntry> ends = entry.entries(END);
      Optional<BoxEnd> end =
          ends.isEmpty() ? Optional.empty() : Optional.of(BoxEnd.parse(id, ends.getFirst()));
      return Optional.of(new PastRelease(id, entry.startingWith(NOTE), end));
    } catch (IllegalArgumentException e) {
      throw new IOException("the record of a release makes no sense: " + e.getMessage(), e);
    }
  }
}
