package dev.ebb.pool;

import dev.ebb.exec.OutputLog;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** The output of commands. */
final class Outputs {
  private Outputs() {}

  static String text(OutputLog log) {
    var all = new ByteArrayOutputStream();
    byte[] chunk = new byte[64 * 1024];
    while (all.size() < log.size()) {
      all.write(chunk, 0, log.read(all.size(), chunk));
    }
    return all.toString(StandardCharsets.UTF_8);
  }
}
