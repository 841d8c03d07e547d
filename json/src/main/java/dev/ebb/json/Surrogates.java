package dev.ebb.json;

/**
 * Halves of surrogate pairs, which no UTF-8 can hold. Those from U+DC80 to U+DCFF stand for a byte
 * of a box's text that is not UTF-8: a name in a box may be any bytes.
 */
public final class Surrogates {
  private static final int ESCAPE = 0xDC00;

  private Surrogates() {}

  /** Whether it stands for the byte of its low half, when it is no half of a pair. */
  public static boolean isByte(int point) {
    return point >= (ESCAPE | 0x80) && point <= (ESCAPE | 0xFF);
  }

  /** Where the first half is that has no other half, and is no byte; -1 when there is none. */
  static int firstLone(String string) {
    for (int i = 0; i < string.length(); i++) {
      char c = string.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < string.length()
          && Character.isLowSurrogate(string.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c) && !isByte(c)) {
        return i;
      }
    }
    return -1;
  }
}
