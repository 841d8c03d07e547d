package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.util.regex.Pattern;

/**
 * What a server answers, with a word to the client that its connection is for one request: a server
 * that was told to close need not say so, and a client who does not know might send the next one.
 * For one thread.
 */
final class AnswerHead {
  private static final String PROTOCOL = "HTTP/1.";
  private static final Pattern INTERIM = Pattern.compile("HTTP/1\\.[01] 1(?!01)\\d\\d\\b.*\\s*");
  private static final byte[] CLOSE = "Connection: close\r\n".getBytes(ISO_8859_1);
  private static final int LINE_MOST = 8 * 1024;

  /** Where the next byte belongs: another answer follows one that is interim. */
  private enum Part {
    STATUS,
    INTERIM_FIELDS,
    REST
  }

  private final StringBuilder line = new StringBuilder();
  private Part part;

  private AnswerHead(Part part) {
    this.part = part;
  }

  static AnswerHead ofRequest() {
    return new AnswerHead(Part.STATUS);
  }

  /** Of a tunnel, or of what a client sends: nothing is said. */
  static AnswerHead none() {
    return new AnswerHead(Part.REST);
  }

  /** Nothing is changed from now on. */
  boolean isPassed() {
    return part == Part.REST;
  }

  /** What is to be handed on when these bytes have come. */
  byte[] edit(byte[] bytes) {
    var out = new ByteArrayOutputStream(bytes.length + CLOSE.length);
    int next = 0;
    for (; next < bytes.length && !isPassed(); next++) {
      line.append((char) (bytes[next] & 0xFF));
      if (bytes[next] == '\n' || (part == Part.STATUS && !mayBeStatus())) {
        endLine(out);
      }
    }
    out.write(bytes, next, bytes.length - next);
    return out.toByteArray();
  }

  private boolean mayBeStatus() {
    int known = Math.min(line.length(), PROTOCOL.length());
    return line.length() < LINE_MOST && PROTOCOL.startsWith(line.substring(0, known));
  }

  private void endLine(ByteArrayOutputStream out) {
    String ended = line.toString();
    out.writeBytes(rest());
    if (part == Part.INTERIM_FIELDS) {
      part = ended.isBlank() ? Part.STATUS : part;
    } else if (INTERIM.matcher(ended).matches()) {
      part = Part.INTERIM_FIELDS;
    } else {
      part = Part.REST;
      if (ended.startsWith(PROTOCOL) && ended.endsWith("\n") && !isSwitch(ended)) {
        out.writeBytes(CLOSE);
      }
    }
  }

  private static boolean isSwitch(String status) {
    return status.startsWith(" 101", PROTOCOL.length() + 1);
  }

  /** What was kept back, when no more comes. */
  byte[] rest() {
    byte[] kept = line.toString().getBytes(ISO_8859_1);
    line.setLength(0);
    return kept;
  }
}
