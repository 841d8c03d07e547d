package dev.ebb.client.json;

/** Halves of surrogate pairs, which no UTF-8 can hold. */
final class Surrogates {
  private Surrogates() {}

  /** Where the first half without its other half is; -1 when there is none. */
  static int firstLone(String string) {
    for (int i = 0; i < string.length(); i++) {
      char c = string.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < string.length()
          && Character.isLowSurrogate(string.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        return i;
      }
    }
    return -1;
  }
}
