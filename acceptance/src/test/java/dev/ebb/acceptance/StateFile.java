package dev.ebb.acceptance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import java.util.zip.CRC32C;

/** A ledger or a record as a file of lines, each with a checksum: and the ways to damage it. */
record StateFile(Path path) {
  private static final int SEAL = 9;

  /** The state files of the only instance in a home. */
  static StateFile ledger(Path home) throws IOException {
    try (var instances = Files.list(home.resolve("instances"))) {
      return new StateFile(instances.findFirst().orElseThrow().resolve("ledger"));
    }
  }

  static StateFile record(Path home, String box) throws IOException {
    return new StateFile(ledger(home).path().resolveSibling(box).resolve("record"));
  }

  /** Every whole line without its checksum; what {@code edit} makes of it gets its own. */
  void edit(Function<String, Optional<String>> edit) throws IOException {
    var lines = new StringBuilder();
    for (String line : Files.readAllLines(path, StandardCharsets.ISO_8859_1)) {
      if (line.length() > SEAL) {
        edit.apply(line.substring(SEAL)).map(StateFile::seal).ifPresent(lines::append);
      }
    }
    Files.writeString(path, lines, StandardCharsets.ISO_8859_1);
  }

  String text() throws IOException {
    return Files.readString(path, StandardCharsets.ISO_8859_1);
  }

  static String seal(String text) {
    var crc = new CRC32C();
    crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
    return "%08x %s\n".formatted(crc.getValue(), text);
  }
}
