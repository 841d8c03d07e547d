package dev.ebb.model;

import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * One rule: {@code example.org} allows that name at the ports of the web; {@code example.org:8443},
 * at that port; {@code *.example.org}, every name below it but not itself; {@code *}, every name;
 * {@code :*}, every port.
 *
 * @param name empty: every name
 * @param below whether it allows names below {@code name} instead of {@code name}
 */
record EgressRule(Optional<HostName> name, boolean below, int port) {
  private static final Set<Integer> WEB_PORTS = Set.of(80, 443);
  private static final int WEB = 0;
  private static final int EVERY_PORT = -1;
  private static final Pattern PORT = Pattern.compile("[1-9][0-9]{0,4}");
  private static final String EVERY = "*";
  private static final String BELOW = "*.";

  static EgressRule parse(String text) {
    if (text.contains("/") || text.contains("@")) {
      throw bad(text, "write the name alone, as example.org or example.org:8443");
    }
    int colon = text.lastIndexOf(':');
    String name = colon < 0 ? text : text.substring(0, colon);
    if (text.contains("[") || HostName.isAddress(name)) {
      throw bad(text, "an address cannot be allowed, only names");
    }
    int port = colon < 0 ? WEB : port(text, text.substring(colon + 1));
    if (name.equals(EVERY)) {
      return new EgressRule(Optional.empty(), false, port);
    }
    boolean below = name.startsWith(BELOW);
    String rest = below ? name.substring(BELOW.length()) : name;
    return new EgressRule(Optional.of(host(text, rest)), below, port);
  }

  private static HostName host(String text, String name) {
    if (name.contains(EVERY)) {
      throw bad(text, "* stands only for all to the left of a name, as *.example.org");
    }
    try {
      return HostName.parse(name);
    } catch (IllegalArgumentException e) {
      throw bad(text, String.valueOf(e.getMessage()));
    }
  }

  private static int port(String text, String port) {
    if (port.equals(EVERY)) {
      return EVERY_PORT;
    }
    int number = PORT.matcher(port).matches() ? Integer.parseInt(port) : 0;
    if (number < 1 || number > 65_535) {
      throw bad(text, "a port is a number from 1 to 65535, or *");
    }
    return number;
  }

  private static IllegalArgumentException bad(String text, String reason) {
    return new IllegalArgumentException("bad egress rule \"" + text + "\": " + reason);
  }

  boolean allows(Destination destination) {
    return allowsPort(destination.port())
        && name.map(own -> below ? destination.name().isBelow(own) : destination.name().equals(own))
            .orElse(true);
  }

  private boolean allowsPort(int asked) {
    return switch (port) {
      case EVERY_PORT -> true;
      case WEB -> WEB_PORTS.contains(asked);
      default -> asked == port;
    };
  }

  /** Returns whether this rule allows everything that {@code other} allows. */
  boolean covers(EgressRule other) {
    boolean coversPort =
        port == EVERY_PORT || port == other.port || (other.port > 0 && allowsPort(other.port));
    return coversPort && coversName(other);
  }

  private boolean coversName(EgressRule other) {
    if (name.isEmpty()) {
      return true;
    }
    if (other.name.isEmpty()) {
      return false;
    }
    boolean isSame = other.name.equals(name) && other.below == below;
    return isSame || (below && other.name.get().isBelow(name.get()));
  }

  @Override
  public String toString() {
    String left = name.map(own -> (below ? BELOW : "") + own).orElse(EVERY);
    return switch (port) {
      case EVERY_PORT -> left + ":*";
      case WEB -> left;
      default -> left + ":" + port;
    };
  }
}
