package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;

/**
 * Rewrites the head of a server's answer so that the client knows that its connection serves one
 * request: a server that was asked to close need not announce it, and a client that does not know
 * might send another. For one thread.
 */
final class AnswerHead {
  private static final String PROTOCOL = "HTTP/1.";
  private static final byte[] CLOSE = "Connection: close\r\n".getBytes(ISO_8859_1);
  private static final int LINE_MOST = 8 * 1024;

  /** Where the next byte belongs: an interim answer is followed by another. */
  private enum Part {
    STATUS,
    INTERIM_FIELDS,
    REST
  }

  /** The status line as far as it has come; of other lines nothing is kept. */
  private final StringBuilder line = new StringBuilder();

  private Part part;
  private boolean isBlank;

  private AnswerHead(Part part) {
    this.part = part;
  }

  static AnswerHead ofRequest() {
    return new AnswerHead(Part.STATUS);
  }

  /** Rewrites nothing: for a tunnel, or for what a client sends. */
  static AnswerHead none() {
    return new AnswerHead(Part.REST);
  }

  /** Nothing is changed from now on. */
  boolean isPassed() {
    return part == Part.REST;
  }

  /** Returns what to forward now that these bytes have come. */
  byte[] edit(byte[] bytes) {
    var out = new ByteArrayOutputStream(bytes.length + CLOSE.length);
    int next = 0;
    for (; next < bytes.length && !isPassed(); next++) {
      if (part == Part.INTERIM_FIELDS) {
        passField(bytes[next], out);
        continue;
      }
      line.append((char) (bytes[next] & 0xFF));
      if (bytes[next] == '\n' || !mayBeStatus()) {
        endStatus(out);
      }
    }
    out.write(bytes, next, bytes.length - next);
    return out.toByteArray();
  }

  private boolean mayBeStatus() {
    int last = line.length() - 1;
    return line.length() < LINE_MOST
        && (last >= PROTOCOL.length() || PROTOCOL.charAt(last) == line.charAt(last));
  }

  private void passField(byte next, ByteArrayOutputStream out) {
    out.write(next);
    if (next == '\n') {
      part = isBlank ? Part.STATUS : part;
      isBlank = true;
    } else {
      isBlank &= Character.isWhitespace(next & 0xFF);
    }
  }

  private void endStatus(ByteArrayOutputStream out) {
    String ended = line.toString();
    out.writeBytes(rest());
    boolean isWhole = ended.startsWith(PROTOCOL) && ended.endsWith("\n");
    if (isWhole && isInterim(ended)) {
      part = Part.INTERIM_FIELDS;
      isBlank = true;
    } else {
      part = Part.REST;
      if (isWhole && !isSwitch(ended)) {
        out.writeBytes(CLOSE);
      }
    }
  }

  /** Returns whether a status is 1xx, except 101, after which there is no more HTTP. */
  private static boolean isInterim(String status) {
    int code = PROTOCOL.length() + 2;
    return status.startsWith(" 1", code - 1)
        && status.length() > code + 3
        && HeadLine.isNumber(status.substring(code, code + 3), 3)
        && !Character.isLetterOrDigit(status.charAt(code + 3))
        && !isSwitch(status);
  }

  private static boolean isSwitch(String status) {
    return status.startsWith(" 101", PROTOCOL.length() + 1);
  }

  /** Returns what was kept back, when no more comes. */
  byte[] rest() {
    byte[] kept = line.toString().getBytes(ISO_8859_1);
    line.setLength(0);
    return kept;
  }
}
