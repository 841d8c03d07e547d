package dev.ebb.mcp;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/** The image formats that clients can show, recognised by their first bytes. */
final class Images {
  /** The largest image that models usually accept. */
  static final int MOST = 3 << 20;

  /** How many bytes of a file decide its format. */
  static final int HEAD = 12;

  private Images() {}

  /** Returns the media type of a file that begins with these bytes. */
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
