package dev.ebb.model;

import java.util.List;
import java.util.Locale;

/**
 * The network that a box sees.
 *
 * @param isOwn whether it is a loopback of its own and nothing else; if not, the host's network
 * @param policy what a proxy on that loopback lets the box reach; if nothing, there is no proxy
 */
public record Network(boolean isOwn, EgressPolicy policy) {
  /** A loopback of its own and nothing else. */
  public static final Network NONE = new Network(true, EgressPolicy.NOTHING);

  /** The host's network. */
  public static final Network HOST = new Network(false, EgressPolicy.NOTHING);

  private static final String ALLOW = "allow=";

  /**
   * Parses {@code none}, {@code host} and {@code allow=name,…}.
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
   * Makes a network of its own with a proxy to what these rules allow.
   *
   * @throws IllegalArgumentException with what is wrong with one of them
   */
  public static Network allow(List<String> rules) {
    return new Network(true, EgressPolicy.parse(rules));
  }

  /** Formats it so that {@link #parse} can read it. */
  @Override
  public String toString() {
    if (!policy.isEmpty()) {
      return ALLOW + policy;
    }
    return isOwn ? "none" : "host";
  }
}
