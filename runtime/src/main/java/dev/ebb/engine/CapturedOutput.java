package dev.ebb.engine;

import dev.ebb.exec.OutputLog;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** The complete output of a command on one stream, as bytes. */
public final class CapturedOutput {
  static final CapturedOutput NONE = new CapturedOutput(new byte[0]);

  private static final int CHUNK = 64 * 1024;

  private final byte[] bytes;

  private CapturedOutput(byte[] bytes) {
    this.bytes = bytes;
  }

  static CapturedOutput of(OutputLog log) {
    var all = new ByteArrayOutputStream();
    byte[] chunk = new byte[CHUNK];
    for (int n = log.read(0, chunk); n > 0; n = log.read(all.size(), chunk)) {
      all.write(chunk, 0, n);
    }
    return new CapturedOutput(all.toByteArray());
  }

  public byte[] bytes() {
    return bytes.clone();
  }

  /** Decodes it as UTF-8; replaces what is not UTF-8. */
  public String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
