package dev.ebb.admission;

/** Reads the gauges for {@link Admission}. */
public interface Meter {
  /** Returns the latest reading. */
  Readings latest();

  /** Reads the gauges now, or returns the latest reading if that is very young. */
  Readings fresh();
}
