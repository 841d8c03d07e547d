package dev.ebb.box;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The description of a detached box for the next engine, as the first entry of its journal.
 *
 * @param backend that made it; empty in a record of a version without backend names
 * @param nonce what its init sends to prove that it belongs to this box
 * @param init the process to find and, at the end, to observe dead; empty: it was lost
 * @param endsAt when init ends the box
 * @param note text that a door must remember about it
 */
public record BoxRecord(
    BoxSpec spec,
    int uid,
    Optional<String> backend,
    HexNonce nonce,
    Optional<ProcessRef> init,
    Optional<Instant> endsAt,
    Map<String, String> note) {
  private static final String ABOUT = "box";
  private static final String NOTE = "note-";
  private static final String NETWORK = SpecFields.NETWORK;
  private static final String BACKEND = "backend";
  private static final String DETACHED = "detached";

  /** A field of the first entry, in records that say when the box was detached. */
  private static final String CONFIRMED = "confirmed";

  public BoxRecord {
    note = Map.copyOf(note);
  }

  /** Bytes that are compared by content. */
  public record HexNonce(String hex) {
    static HexNonce of(byte[] bytes) {
      return new HexNonce(HexFormat.of().formatHex(bytes));
    }

    byte[] bytes() {
      return HexFormat.of().parseHex(hex);
    }
  }

  /**
   * The record of a box.
   *
   * @throws IOException when there is no valid one
   */
  public static BoxRecord read(Journal journal) throws IOException {
    var entry = journal.find(ABOUT);
    if (entry.isEmpty()) {
      throw new IOException("there is no record of the box");
    }
    return parse(entry.get());
  }

  JournalEntry entry() {
    JournalEntry entry =
        SpecFields.add(JournalEntry.about(ABOUT).with("uid", uid).with("nonce", nonce.hex()), spec)
            .with(CONFIRMED, "later");
    for (var each : note.entrySet()) {
      entry = entry.with(NOTE + each.getKey(), each.getValue());
    }
    entry = backend.isPresent() ? entry.with(BACKEND, backend.get()) : entry;
    entry = init.isPresent() ? entry.with("init", init.get()) : entry;
    return endsAt.isPresent() ? entry.with("ends-at", endsAt.get().toEpochMilli()) : entry;
  }

  /** The entry after init has confirmed that it lives on. */
  static JournalEntry detachedEntry() {
    return JournalEntry.about(DETACHED);
  }

  /**
   * Returns whether a box was certainly detached. A dead box that was not certainly detached never
   * existed for a caller: its engine died while making it.
   */
  public static boolean isConfirmed(List<JournalEntry> entries) {
    return entries.stream()
        .anyMatch(
            entry ->
                entry.about().equals(DETACHED)
                    || (entry.about().equals(ABOUT) && entry.find(CONFIRMED).isEmpty()));
  }

  /** The entry for a changed network. */
  static JournalEntry networkEntry(Network changed) {
    return JournalEntry.about(NETWORK).with(NETWORK, changed);
  }

  /** Returns the network after the last change. */
  static Optional<Network> network(List<JournalEntry> entries) {
    return networks(entries.reversed()).findFirst();
  }

  /** Returns whether the box was ever allowed to reach a host, when it was made or later. */
  static boolean hadWayOut(Network first, List<JournalEntry> entries) {
    return Stream.concat(Stream.of(first), networks(entries))
        .anyMatch(each -> !each.policy().isEmpty());
  }

  private static Stream<Network> networks(List<JournalEntry> entries) {
    return entries.stream()
        .filter(entry -> entry.about().equals(NETWORK))
        .flatMap(entry -> entry.find(NETWORK).stream())
        .map(Network::parse);
  }

  static BoxRecord parse(JournalEntry entry) throws IOException {
    try {
      return new BoxRecord(
          SpecFields.read(entry),
          entry.integer("uid"),
          entry.find(BACKEND),
          new HexNonce(entry.text("nonce")),
          entry.find("init").map(ProcessRef::parse),
          entry.find("ends-at").map(Long::valueOf).map(Instant::ofEpochMilli),
          entry.startingWith(NOTE));
    } catch (IllegalArgumentException | SandboxException e) {
      throw new IOException("the record of a box makes no sense: " + e.getMessage(), e);
    }
  }
}
