package dev.ebb.admission;

import java.time.Duration;
import java.util.Locale;

/** The request was not admitted. Nothing was made; the caller may try again later. */
public final class Refusal extends Exception {
  private static final long serialVersionUID = 1L;

  public enum Reason {
    /** There is no room. */
    FULL,
    /** Too many requests wait already. */
    QUEUE_FULL,
    /** The request waited for as long as it may. */
    DEADLINE,
    /** The caller has left. */
    LEFT;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private final Reason reason;
  private final transient Reading reading;
  private final Duration retryAfter;

  Refusal(Reason reason, Reading reading, Duration retryAfter) {
    super(message(reason, reading), null, false, false);
    this.reason = reason;
    this.reading = reading;
    this.retryAfter = retryAfter;
  }

  private static String message(Reason reason, Reading reading) {
    return switch (reason) {
      case FULL -> "no more can begin: " + reading;
      case QUEUE_FULL -> "too many wait to begin: " + reading;
      case DEADLINE -> "could not begin in time: " + reading;
      case LEFT -> "the caller has left";
    };
  }

  public Reason reason() {
    return reason;
  }

  /** Returns the reading of the resource that is short. */
  public Reading reading() {
    return reading;
  }

  public Duration retryAfter() {
    return retryAfter;
  }
}
