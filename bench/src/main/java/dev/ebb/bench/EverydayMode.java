package dev.ebb.bench;

import java.util.List;

/**
 * How much {@link Everyday} measures.
 *
 * @param rounds of the warm calls
 * @param warmUp calls before them
 * @param starts daemons for the first calls of each kind
 * @param kills of each number of processes
 * @param commands of each command line
 * @param seconds of each throughput
 * @param idleSeconds before the memory of an idle daemon is read
 * @param living numbers of boxes to measure beside
 */
record EverydayMode(
    String name,
    int rounds,
    int warmUp,
    int starts,
    int kills,
    int commands,
    int seconds,
    int idleSeconds,
    List<Integer> living) {
  static final EverydayMode FULL =
      new EverydayMode("", 200, 5000, 5, 25, 40, 60, 120, List.of(10, 100, 250, 500, 1000));

  static final EverydayMode QUICK =
      new EverydayMode("quick", 25, 400, 1, 5, 8, 5, 25, List.of(10, 50));

  private static final long PAUSE_MILLIS = 20;

  /** The time between two calls of a client that is not in a hurry. */
  void pause() throws InterruptedException {
    Thread.sleep(PAUSE_MILLIS);
  }
}
