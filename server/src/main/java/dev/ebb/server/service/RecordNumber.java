package dev.ebb.server.service;

import dev.ebb.engine.PastBoxes;
import java.util.concurrent.atomic.AtomicInteger;

/** By which number a box is on record, while it is made and ended by different threads. */
final class RecordNumber {
  private static final int OPEN = -1;

  private final AtomicInteger number = new AtomicInteger(OPEN);

  /** The box was put on record; false when its end came first. */
  boolean begin(int begun) {
    return number.compareAndSet(OPEN, begun);
  }

  /** For the end of the box: from now on it does not begin. */
  int take() {
    return number.compareAndSet(OPEN, PastBoxes.NONE) ? PastBoxes.NONE : number.get();
  }
}
