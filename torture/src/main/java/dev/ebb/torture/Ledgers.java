package dev.ebb.torture;

import dev.ebb.oracle.Proc;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Optional;

/** Reads ledgers, of which the runtime has its own reader: see dev.ebb.ledger.LedgerLine. */
final class Ledgers {
  private static final int SIGN = 1;
  private static final int NUMBER = 2;
  private static final int BOX = 3;
  private static final int KIND = 4;
  private static final int SUBJECT = 5;

  /** The forkserver is listed as if it were a box. */
  static final String FORKSERVER = "forkserver";

  private Ledgers() {}

  /** The lines that are not struck out. */
  static Collection<String> held(Path ledger) throws IOException {
    var held = new LinkedHashMap<String, String>();
    for (String line : Proc.lines(ledger)) {
      String[] words = line.split(" ", -1);
      if (words.length > BOX && words[SIGN].equals("+")) {
        held.put(words[NUMBER], line);
      } else if (words.length > NUMBER) {
        held.remove(words[NUMBER]);
      }
    }
    return held.values();
  }

  /** The box it belongs to; empty for the instance's own. */
  static String box(String line) {
    return line.split(" ", -1)[BOX];
  }

  /** Returns whether the holding belongs to the instance itself while it serves, and to no box. */
  static boolean isInstances(String line) {
    return box(line).isEmpty() || box(line).equals(FORKSERVER);
  }

  /** The process that clones boxes, as {@code pid@start}: an instance has one at most. */
  static Optional<String> forkserver(Path ledger) throws IOException {
    return held(ledger).stream()
        .map(line -> line.split(" ", -1))
        .filter(words -> words.length > SUBJECT)
        .filter(words -> words[BOX].equals(FORKSERVER) && words[KIND].equals("PROCESS"))
        .map(words -> URLDecoder.decode(words[SUBJECT], StandardCharsets.UTF_8))
        .reduce((former, latter) -> latter);
  }
}
