package dev.ebb.json;

/**
 * Lone halves of surrogate pairs, which UTF-8 cannot hold. A half from U+DC80 to U+DCFF stands for
 * one byte that is not UTF-8: names in a box may be any bytes.
 */
public final class Surrogates {
  private static final int ESCAPE = 0xDC00;

  private Surrogates() {}

  /** Returns whether a lone half stands for the byte in its low eight bits. */
  public static boolean isByte(int point) {
    return point >= (ESCAPE | 0x80) && point <= (ESCAPE | 0xFF);
  }

  /** Returns the index of the first lone half that stands for no byte, or -1. */
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
