package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Records that a dead daemon left of stopped boxes, and more such records written by the test. */
final class EndedBoxes {
  private static final Pattern AT = Pattern.compile("(?<= at=)\\d+");

  private final Path home;
  private final Path first;
  private int copies;

  /** Copies the record of one box. */
  EndedBoxes(Path home, String box) throws IOException {
    this.home = home;
    first = StateFile.ledger(home).path().resolveSibling(box);
  }

  /** Adds a box that ended this long before the first; returns its id. */
  String copy(Duration before) throws IOException {
    copies++;
    Path box = first.resolveSibling("bc0de%08x".formatted(copies));
    Files.createDirectory(box);
    for (String file : List.of("1.stdout", "1.stderr", "record")) {
      Files.copy(first.resolve(file), box.resolve(file));
    }
    new StateFile(box.resolve("record"))
        .edit(line -> Optional.of(line.startsWith("gone ") ? earlier(line, before) : line));
    hold(box);
    return box.getFileName().toString();
  }

  private static String earlier(String line, Duration by) {
    return AT.matcher(line)
        .replaceFirst(at -> Long.toString(Long.parseLong(at.group()) - by.toMillis()));
  }

  private void hold(Path box) throws IOException {
    String line = "+ %d %s %s %s";
    int number = 1_000_000 + 2 * copies;
    String name = box.getFileName().toString();
    Files.writeString(
        StateFile.ledger(home).path(),
        StateFile.seal(line.formatted(number, name, "DIRECTORY", escape(box)))
            + StateFile.seal(line.formatted(number + 1, name, "RECORD", escape(box) + "%2Frecord")),
        US_ASCII,
        StandardOpenOption.APPEND);
  }

  /** Writes a record as an earlier version of Ebb did. */
  private static String escape(Path path) {
    return URLEncoder.encode(path.toString(), UTF_8);
  }

  /** The boxes that have a directory. */
  Set<String> onDisk() throws IOException {
    try (var entries = Files.list(first.getParent())) {
      var boxes = new TreeSet<String>();
      entries.filter(Files::isDirectory).forEach(box -> boxes.add(box.getFileName().toString()));
      return boxes;
    }
  }

  /** The boxes that have lines on the ledger. */
  Set<String> onLedger() throws IOException {
    var held = new TreeMap<String, String>();
    for (String line : StateFile.ledger(home).text().lines().toList()) {
      var words = new ArrayList<>(List.of(line.split(" ")));
      if (words.size() == 3) {
        held.remove(words.get(2));
      } else if (words.size() == 6
          && !words.get(3).isEmpty()
          && !words.get(3).equals("forkserver")) {
        held.put(words.get(2), words.get(3));
      }
    }
    return new TreeSet<>(held.values());
  }
}
