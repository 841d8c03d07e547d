package dev.ebb.model;

import java.util.List;
import java.util.Locale;

/**
 * What of the network a box sees.
 *
 * @param isOwn a loopback of its own and nothing else; not: all that the host sees
 * @param policy what may be reached by a proxy on that loopback; nothing: there is none
 */
public record Network(boolean isOwn, EgressPolicy policy) {
  /** A loopback of its own and nothing else. */
  public static final Network NONE = new Network(true, EgressPolicy.NOTHING);

  /** The host's. */
  public static final Network HOST = new Network(false, EgressPolicy.NOTHING);

  private static final String ALLOW = "allow=";

  /**
   * Understands {@code none}, {@code host} and {@code allow=name,…}.
   *
   * @throws IllegalArgumentException with what is wrong with it
   */
  public static Network parse(String text) {
    if (text.startsWith(ALLOW)) {
      return allow(List.of(text.substring(ALLOW.length()).split(",", -1)));
    }
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "none" -> NONE;
      case "host" -> HOST;
      default ->
          throw new IllegalArgumentException(
              "bad network \"" + text + "\": choose none, host or allow=NAME,…");
    };
  }

  /**
   * None, and a proxy to what these rules allow.
   *
   * @throws IllegalArgumentException with what is wrong with one of them
   */
  public static Network allow(List<String> rules) {
    return new Network(true, EgressPolicy.parse(rules));
  }

  /** As {@link #parse} understands it. */
  @Override
  public String toString() {
    if (!policy.isEmpty()) {
      return ALLOW + policy;
    }
    return isOwn ? "none" : "host";
  }
}
