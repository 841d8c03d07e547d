package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.model.Certificate;
import dev.ebb.model.Kind;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a detached box ended, as an entry of its journal. After this entry only its output is left.
 *
 * @param certificate a clean one: a stuck box has not ended
 * @param note text that a door must remember about it
 */
public record BoxEnd(Instant at, Certificate certificate, Map<String, String> note) {
  private static final String ABOUT = "gone";
  private static final String RELEASED = "released-";
  private static final String NOTE = "note-";

  public BoxEnd {
    note = Map.copyOf(note);
  }

  JournalEntry entry() {
    JournalEntry entry =
        JournalEntry.about(ABOUT)
            .with("at", at.toEpochMilli())
            .with("took", certificate.took().toNanos());
    for (var each : certificate.released().entrySet()) {
      entry = entry.with(RELEASED + each.getKey().wireName(), each.getValue());
    }
    for (var each : note.entrySet()) {
      entry = entry.with(NOTE + each.getKey(), each.getValue());
    }
    return entry;
  }

  /** Returns when a box ended, by its record; empty if it has not ended. */
  public static Optional<Instant> at(Journal journal) throws IOException {
    var entry = journal.find(ABOUT);
    return entry.isPresent()
        ? Optional.of(Instant.ofEpochMilli(entry.get().number("at")))
        : Optional.empty();
  }

  /** Returns the recorded end; empty if the box has not ended. */
  static Optional<BoxEnd> find(BoxId box, List<JournalEntry> entries) throws IOException {
    for (JournalEntry entry : entries) {
      if (entry.about().equals(ABOUT)) {
        return Optional.of(parse(box, entry));
      }
    }
    return Optional.empty();
  }

  static BoxEnd parse(BoxId box, JournalEntry entry) throws IOException {
    var released = new EnumMap<Kind, Integer>(Kind.class);
    for (Kind kind : Kind.values()) {
      if (entry.find(RELEASED + kind.wireName()).isPresent()) {
        released.put(kind, entry.integer(RELEASED + kind.wireName()));
      }
    }
    // An earlier version wrote only the time.
    Duration took =
        entry.find("took").isPresent() ? Duration.ofNanos(entry.number("took")) : Duration.ZERO;
    return new BoxEnd(
        Instant.ofEpochMilli(entry.number("at")),
        new Certificate(box.value(), released, released, List.of(), took),
        entry.startingWith(NOTE));
  }
}
