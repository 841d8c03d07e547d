package dev.ebb.code;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses the stream of a runner: {@code NONCE KIND SIZE\n} and so many bytes, repeated.
 *
 * <p>SAFETY: a box may send anything. Only announced bytes are taken, an announcement that is too
 * large is refused, and no byte is kept without room for it. For one thread.
 */
final class Frames {
  /** The kinds of frames. */
  enum Kind {
    /** The interpreter waits for its first cell. */
    READY(0),
    /** The code of the cell runs from now on. */
    BEGUN(0),
    /** One form of a display: a type, NUL, the content. */
    FORM(16 << 20),
    /** The forms so far are a display. */
    DISPLAY(0),
    /** The forms so far are the value of the cell. */
    RESULT(0),
    /** An exception: name, NUL, value, NUL, traceback. */
    ERROR(1 << 20),
    /** There was more to show than is allowed. */
    CUT(0),
    /** The cell is over: "ok", "error", "interrupted" or an exit status. */
    DONE(16);

    private final int most;

    Kind(int most) {
      this.most = most;
    }

    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Receives the frames. */
  interface Listener {
    /** Returns what is wrong with such a frame, before any of it is stored; null if nothing. */
    @Nullable String opens(String nonce, Kind kind);

    /** Returns whether the body of such a frame is wanted; otherwise it is skipped. */
    boolean wants(Kind kind, int size);

    /** Returns what is wrong with the frame, or null. */
    @Nullable String received(Kind kind, byte @Nullable [] body);
  }

  private static final int HEAD_MOST = 48;
  private static final Pattern HEAD =
      Pattern.compile("([0-9a-f]{16}) ([a-z]{2,10}) (0|[1-9][0-9]{0,7})");

  private final Listener listener;
  private final byte[] head = new byte[HEAD_MOST];
  private int headSize;

  /** The kind of the frame whose body is awaited. */
  private @Nullable Kind kind;

  private byte @Nullable [] body;
  private int size;
  private int done;

  Frames(Listener listener) {
    this.listener = listener;
  }

  /** Returns whether no frame is half received. */
  boolean isBetween() {
    return headSize == 0 && kind == null;
  }

  /** Parses bytes; returns what is wrong with them, or null. */
  @Nullable String take(byte[] bytes, int length) {
    for (int at = 0; at < length; ) {
      if (kind != null) {
        int n = Math.min(length - at, size - done);
        if (body != null) {
          System.arraycopy(bytes, at, body, done, n);
        }
        done += n;
        at += n;
      } else {
        byte b = bytes[at++];
        if (b != '\n') {
          if (headSize == HEAD_MOST) {
            return "a head without an end";
          }
          head[headSize++] = b;
          continue;
        }
        String wrong = open();
        if (wrong != null) {
          return wrong;
        }
      }
      String wrong = done == size ? close() : null;
      if (wrong != null) {
        return wrong;
      }
    }
    return null;
  }

  private @Nullable String open() {
    Matcher words = HEAD.matcher(new String(head, 0, headSize, StandardCharsets.ISO_8859_1));
    headSize = 0;
    if (!words.matches()) {
      return "no head of a frame";
    }
    Kind opened = kind(words.group(2));
    int announced = Integer.parseInt(words.group(3));
    if (opened == null || announced > opened.most) {
      return "a frame of kind " + words.group(2) + " with " + announced + " bytes";
    }
    String wrong = listener.opens(words.group(1), opened);
    if (wrong != null) {
      return wrong;
    }
    kind = opened;
    size = announced;
    done = 0;
    body = listener.wants(opened, announced) ? new byte[announced] : null;
    return null;
  }

  private static @Nullable Kind kind(String word) {
    for (Kind each : Kind.values()) {
      if (each.wireName().equals(word)) {
        return each;
      }
    }
    return null;
  }

  private @Nullable String close() {
    Kind opened = kind;
    byte[] whole = body;
    kind = null;
    body = null;
    return opened == null ? null : listener.received(opened, whole);
  }
}
