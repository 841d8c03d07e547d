package dev.ebb.server.service;

import dev.ebb.engine.PastBoxes;
import java.util.concurrent.atomic.AtomicInteger;

/** The record number of a box, while different threads make and end it. */
final class RecordNumber {
  private static final int OPEN = -1;

  private final AtomicInteger number = new AtomicInteger(OPEN);

  /** Notes the record of the box; returns false if its end came first. */
  boolean begin(int begun) {
    return number.compareAndSet(OPEN, begun);
  }

  /** Returns the number for the end of the box, which no beginning may follow. */
  int take() {
    return number.compareAndSet(OPEN, PastBoxes.NONE) ? PastBoxes.NONE : number.get();
  }
}
