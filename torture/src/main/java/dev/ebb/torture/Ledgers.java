package dev.ebb.torture;

import dev.ebb.oracle.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;

/** Reads ledgers, of which the runtime has its own reader: see dev.ebb.ledger.LedgerLine. */
final class Ledgers {
  private static final int SIGN = 1;
  private static final int NUMBER = 2;
  private static final int BOX = 3;

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

  /** Whose it is; empty for the instance's own. */
  static String box(String line) {
    return line.split(" ", -1)[BOX];
  }
}
