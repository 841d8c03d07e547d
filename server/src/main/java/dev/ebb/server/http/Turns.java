package dev.ebb.server.http;

/**
 * Shares the processors between requests. A virtual thread keeps its carrier until it waits for
 * something, and there are as few carriers as processors: long bodies of one tenant on all of them
 * would delay every other request. Work whose length a caller decides yields now and then.
 */
final class Turns {
  /** So many bytes are read in a fraction of a millisecond. */
  static final int LENGTH = 16 * 1024;

  private Turns() {}

  /** Yields to other threads. */
  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it but how soon other threads run
  static void giveWay() {
    Thread.yield();
  }
}
