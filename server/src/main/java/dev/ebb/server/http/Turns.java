package dev.ebb.server.http;

/**
 * Turns on the processors. A virtual thread keeps its carrier until it waits for something, and
 * there are as few carriers as processors: a tenant whose long bodies are read on all of them would
 * keep every other request waiting. Work whose length a caller decides gives way now and then.
 */
final class Turns {
  /** A power of two; so many bytes are read in a fraction of a millisecond. */
  private static final int LENGTH = 16 * 1024;

  private Turns() {}

  /**
   * Lets the others go on that can, once for each {@value #LENGTH} steps.
   *
   * @param step counts up
   */
  static void giveWay(int step) {
    if ((step & (LENGTH - 1)) == 0) {
      giveWay();
    }
  }

  /** Lets the others go on that can. */
  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it but how soon others go on
  static void giveWay() {
    Thread.yield();
  }
}
