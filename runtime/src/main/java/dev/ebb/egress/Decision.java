package dev.ebb.egress;

import java.util.Locale;

/**
 * The outcome of one request of a box.
 *
 * @param destination as name:port; empty when the request named none that is valid
 */
public record Decision(String box, String destination, Outcome outcome) {

  /** Why. */
  public enum Outcome {
    ALLOWED,
    /** The policy of the box does not name it. */
    POLICY,
    /** An address where a name should be. */
    LITERAL,
    /** The name has an address that is private, of this host, or of another special kind. */
    ADDRESS,
    /** The request makes no sense, or two. */
    MALFORMED,
    /** The request arrived too slowly. */
    SLOW,
    /** The name has no address. */
    UNRESOLVED,
    /** The destination could not be reached. */
    UNREACHABLE;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public boolean isAllowed() {
    return outcome == Outcome.ALLOWED;
  }
}
