package dev.ebb.mcp;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/** The pictures that clients can show, known by how they begin. */
final class Images {
  /** As much as a model is usually let see. */
  static final int MOST = 3 << 20;

  /** How much of a file tells whether it is one. */
  static final int HEAD = 12;

  private Images() {}

  /** The media type of what begins so. */
  static Optional<String> type(byte[] head) {
    if (begins(head, 0, "\u0089PNG\r\n\u001a\n")) {
      return Optional.of("image/png");
    }
    if (begins(head, 0, "\u00ff\u00d8\u00ff")) {
      return Optional.of("image/jpeg");
    }
    if (begins(head, 0, "GIF87a") || begins(head, 0, "GIF89a")) {
      return Optional.of("image/gif");
    }
    if (begins(head, 0, "RIFF") && begins(head, 8, "WEBP")) {
      return Optional.of("image/webp");
    }
    return Optional.empty();
  }

  private static boolean begins(byte[] head, int at, String magic) {
    byte[] wanted = magic.getBytes(StandardCharsets.ISO_8859_1);
    return head.length >= at + wanted.length
        && Arrays.equals(head, at, at + wanted.length, wanted, 0, wanted.length);
  }
}
