package dev.ebb.code;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Takes apart what a runner says: {@code NONCE KIND SIZE\n} and so many bytes, again and again.
 *
 * <p>SAFETY: a box may say anything. Nothing is taken that was not announced, nothing is announced
 * that is too large, and no byte is kept that there is no room for. For one thread.
 */
final class Frames {
  /** What can be said. */
  enum Kind {
    /** The interpreter waits for its first cell. */
    READY(0),
    /** The code of the cell runs from now on. */
    BEGUN(0),
    /** One form of what is shown: a type, NUL, the content. */
    FORM(16 << 20),
    /** The forms so far are something to look at. */
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

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Takes the frames. */
  interface Listener {
    /** Says what is wrong with such a frame, before anything of it is taken; null: nothing. */
    @Nullable String opens(String nonce, Kind kind);

    /** Whether the body of such a frame is wanted; else it is passed over. */
    boolean wants(Kind kind, int size);

    /** Says what is wrong with it; null: nothing. */
    @Nullable String heard(Kind kind, byte @Nullable [] body);
  }

  private static final int HEAD_MOST = 48;
  private static final Pattern HEAD =
      Pattern.compile("([0-9a-f]{16}) ([a-z]{2,10}) (0|[1-9][0-9]{0,7})");

  private final Listener listener;
  private final byte[] head = new byte[HEAD_MOST];
  private int headSize;

  /** Of the frame whose body is awaited. */
  private @Nullable Kind kind;

  private byte @Nullable [] body;
  private int size;
  private int done;

  Frames(Listener listener) {
    this.listener = listener;
  }

  /** No frame has begun that has not ended. */
  boolean isBetween() {
    return headSize == 0 && kind == null;
  }

  /** Says what is wrong with it; null: nothing. */
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
    Kind said = kind(words.group(2));
    int announced = Integer.parseInt(words.group(3));
    if (said == null || announced > said.most) {
      return "a frame of kind " + words.group(2) + " with " + announced + " bytes";
    }
    String wrong = listener.opens(words.group(1), said);
    if (wrong != null) {
      return wrong;
    }
    kind = said;
    size = announced;
    done = 0;
    body = listener.wants(said, announced) ? new byte[announced] : null;
    return null;
  }

  private static @Nullable Kind kind(String word) {
    for (Kind each : Kind.values()) {
      if (each.word().equals(word)) {
        return each;
      }
    }
    return null;
  }

  private @Nullable String close() {
    Kind said = kind;
    byte[] whole = body;
    kind = null;
    body = null;
    return said == null ? null : listener.heard(said, whole);
  }
}
