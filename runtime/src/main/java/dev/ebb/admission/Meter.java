package dev.ebb.admission;

/** Whoever reads the gauges for {@link Admission}. */
public interface Meter {
  /** The latest reading there is. */
  Readings latest();

  /** Reads them now, or as soon as may be: whoever asks often is told the latest again. */
  Readings fresh();
}
