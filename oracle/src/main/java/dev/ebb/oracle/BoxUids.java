package dev.ebb.oracle;

/** The host uids that only boxes have. */
final class BoxUids {
  private static final int FIRST = 0x7000_0000;

  private BoxUids() {}

  static boolean contains(int uid) {
    return uid >= FIRST;
  }
}
