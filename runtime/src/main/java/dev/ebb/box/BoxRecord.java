package dev.ebb.box;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the next engine must know of a detached box, as the first entry of its journal.
 *
 * @param backend that made it; empty in a record of before there were names
 * @param nonce what its init sends to prove that it belongs to this box
 * @param init the process to find and, in the end, to see dead; empty: it was lost
 * @param endsAt when init ends the box by itself
 * @param note what a door must remember of it
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
  private static final String NETWORK = "network";
  private static final String BACKEND = "backend";
  private static final String DETACHED = "detached";

  /** In the first entry of a record that says when its box was detached. */
  private static final String CONFIRMED = "confirmed";

  public BoxRecord {
    note = Map.copyOf(note);
  }

  /** Bytes that are equal when they are the same. */
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
   * @throws IOException when there is none that makes sense
   */
  public static BoxRecord read(LogDirectory directory) throws IOException {
    var entry = directory.record().find(ABOUT);
    if (entry.isEmpty()) {
      throw new IOException("no record of a box in " + directory.path());
    }
    return parse(entry.get());
  }

  JournalEntry entry() {
    Limits limits = spec.limits();
    JournalEntry entry =
        JournalEntry.about(ABOUT)
            .with("uid", uid)
            .with("nonce", nonce.hex())
            .with("memory", limits.memory().bytes())
            .with("pids", limits.pids())
            .with("cpus", limits.cpus())
            .with("disk", limits.disk().bytes())
            .with("temporary", limits.temporary().bytes())
            .with(NETWORK, spec.network())
            .with(CONFIRMED, "later")
            .withAll("package", spec.packages());
    for (var each : note.entrySet()) {
      entry = entry.with(NOTE + each.getKey(), each.getValue());
    }
    for (Mount mount : spec.mounts()) {
      entry =
          entry
              .with("mount-host", mount.host())
              .with("mount-box", mount.box())
              .with("mount-read-only", mount.readOnly());
    }
    entry = backend.isPresent() ? entry.with(BACKEND, backend.get()) : entry;
    entry = init.isPresent() ? entry.with("init", init.get()) : entry;
    return endsAt.isPresent() ? entry.with("ends-at", endsAt.get().toEpochMilli()) : entry;
  }

  /** Its init was told to live on. */
  static JournalEntry detachedEntry() {
    return JournalEntry.about(DETACHED);
  }

  /**
   * Whether a box was detached for certain. A dead box without this never existed for a caller: its
   * engine died while it made the box.
   */
  public static boolean isConfirmed(List<JournalEntry> entries) {
    return entries.stream()
        .anyMatch(
            entry ->
                entry.about().equals(DETACHED)
                    || (entry.about().equals(ABOUT) && entry.find(CONFIRMED).isEmpty()));
  }

  /** The network of a box was changed. */
  static JournalEntry networkEntry(Network changed) {
    return JournalEntry.about(NETWORK).with(NETWORK, changed);
  }

  /** The network as it was changed last. */
  static Optional<Network> network(List<JournalEntry> entries) {
    return networks(entries.reversed()).findFirst();
  }

  /** Whether it was ever allowed to reach anything, as it was made or by a change. */
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
      var limits =
          new Limits(
              new ByteSize(entry.number("memory")),
              entry.integer("pids"),
              Double.parseDouble(entry.text("cpus")),
              new ByteSize(entry.number("disk")),
              new ByteSize(entry.number("temporary")));
      // What was copied in is in the box; what was shown is said, and not looked for again.
      var spec =
          new BoxSpec(
              limits,
              Network.parse(entry.text(NETWORK)),
              mounts(entry),
              entry.texts("package").stream().map(Path::of).toList(),
              List.of(),
              Optional.empty());
      return new BoxRecord(
          spec,
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

  private static List<Mount> mounts(JournalEntry entry) {
    List<String> hosts = entry.texts("mount-host");
    List<String> boxes = entry.texts("mount-box");
    List<String> readOnly = entry.texts("mount-read-only");
    var mounts = new ArrayList<Mount>();
    for (int i = 0; i < hosts.size(); i++) {
      mounts.add(
          new Mount(Path.of(hosts.get(i)), boxes.get(i), Boolean.parseBoolean(readOnly.get(i))));
    }
    return mounts;
  }
}
