package dev.ebb.admission;

/**
 * One limit that applies, and how much of it is used.
 *
 * @param limit {@link #NO_LIMIT} where there is none
 * @param source the file or setting that sets the limit
 */
record Amount(long use, long limit, String source) {
  static final long NO_LIMIT = Long.MAX_VALUE;
  private static final double WHOLE = 100;

  static Amount unlimited(long use) {
    return new Amount(use, NO_LIMIT, "none");
  }

  double percent() {
    return limit <= 0 ? WHOLE : WHOLE * use / limit;
  }
}
