package dev.ebb.model;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The entry at a path of a box; links are not followed.
 *
 * @param name see {@link BoxText} for one that is not UTF-8
 * @param mode permission bits
 * @param target of a link, if it was requested
 */
public record FileEntry(
    String name, Type type, long size, int mode, Instant modified, Optional<String> target) {

  /** The types of files that callers distinguish. */
  public enum Type {
    FILE,
    DIRECTORY,
    LINK,
    OTHER;

    private static Type of(String letter) {
      return switch (letter) {
        case "f" -> FILE;
        case "d" -> DIRECTORY;
        case "l" -> LINK;
        default -> OTHER;
      };
    }
  }

  public static final int FIELDS = 6;
  private static final long NANOS = 1_000_000_000;

  /** Parses the list that init sends, see init/protocol.h. */
  public static List<FileEntry> parse(byte[] bytes) {
    var entries = new ArrayList<FileEntry>();
    var fields = new String[FIELDS];
    int count = 0;
    int from = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == 0) {
        fields[count++] = BoxText.decode(bytes, from, i);
        from = i + 1;
      }
      if (count == FIELDS) {
        entries.add(of(fields));
        count = 0;
      }
    }
    if (from != bytes.length || count != 0) {
      throw new IllegalArgumentException("an entry of " + count + " fields");
    }
    return entries;
  }

  public static FileEntry of(String[] fields) {
    var type = Type.of(fields[0]);
    long nanos = Long.parseLong(fields[3]);
    return new FileEntry(
        fields[5],
        type,
        Long.parseLong(fields[2]),
        Integer.parseInt(fields[1], 8),
        Instant.ofEpochSecond(Math.floorDiv(nanos, NANOS), Math.floorMod(nanos, NANOS)),
        Optional.of(fields[4]).filter(target -> !target.isEmpty()));
  }
}
