package dev.ebb.egress;

import java.net.IDN;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * A domain name in its one form: lower case, punycode, without the dot at its end. Never an
 * address.
 */
record HostName(String text) {
  private static final int LONGEST = 253;
  private static final Pattern NAME =
      Pattern.compile(
          "(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\\.)*"
              + "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?");

  /** What resolvers take for a number, also in the octal and hexadecimal forms of inet_aton. */
  private static final Pattern ENDS_IN_NUMBER =
      Pattern.compile("(?:.*\\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)\\.?");

  /** As a person writes it; throws with a reason. */
  static HostName parse(String text) {
    try {
      return ofAscii(IDN.toASCII(text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("\"" + text + "\" is no domain name", e);
    }
  }

  /** As a program sends it. */
  static HostName ofAscii(String text) {
    String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.length() > LONGEST || isAddress(lower) || !NAME.matcher(lower).matches()) {
      throw new IllegalArgumentException("\"" + text + "\" is no domain name");
    }
    return new HostName(lower);
  }

  /** Whether somebody, somewhere on the way, would take it for an address. */
  static boolean isAddress(String text) {
    return text.indexOf(':') >= 0
        || text.indexOf('[') >= 0
        || ENDS_IN_NUMBER.matcher(text).matches();
  }

  boolean isBelow(HostName parent) {
    return text.endsWith("." + parent.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
