package dev.ebb.admission;

import java.time.Duration;
import java.util.Locale;

/** Not admitted: nothing was made, and it may be tried again later. */
public final class Refusal extends Exception {
  private static final long serialVersionUID = 1L;

  /** Why. */
  public enum Reason {
    /** There is none left. */
    FULL,
    /** Too many wait already. */
    QUEUE_FULL,
    /** Waited for as long as one may. */
    DEADLINE,
    /** Who asked does not wait any longer. */
    LEFT;

    public String word() {
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
      case LEFT -> "whoever asked has left";
    };
  }

  public Reason reason() {
    return reason;
  }

  /** What there is too little of. */
  public Reading reading() {
    return reading;
  }

  public Duration retryAfter() {
    return retryAfter;
  }
}
