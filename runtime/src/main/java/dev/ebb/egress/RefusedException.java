package dev.ebb.egress;

import dev.ebb.egress.Decision.Outcome;

/** A request that the proxy refuses, and the answer to its sender. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final Outcome outcome;
  private final int status;

  /** The text is a phrase of ours and what was understood whole: it becomes part of an answer. */
  RefusedException(Outcome outcome, int status, String text) {
    super(text, null, false, false);
    this.outcome = outcome;
    this.status = status;
  }

  static RefusedException malformed(String text) {
    return new RefusedException(Outcome.MALFORMED, 400, text);
  }

  static RefusedException late(String name) {
    return new RefusedException(Outcome.UNRESOLVED, 504, name + " was not found in time");
  }

  Outcome outcome() {
    return outcome;
  }

  int status() {
    return status;
  }

  String text() {
    return String.valueOf(getMessage());
  }
}
