package dev.ebb.model;

import java.net.IDN;
import java.util.Locale;

/** A domain name in canonical form: lower case, punycode, without a final dot. Never an address. */
public record HostName(String text) {
  private static final int LONGEST = 253;
  private static final int LONGEST_LABEL = 63;

  /** Parses a name as people write it; throws with a reason. */
  public static HostName parse(String text) {
    try {
      return ofAscii(IDN.toASCII(text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("\"" + text + "\" is no domain name", e);
    }
  }

  /** Parses a name as a program sends it. */
  public static HostName ofAscii(String text) {
    String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.length() > LONGEST || isAddress(lower) || !hasForm(lower)) {
      throw new IllegalArgumentException("\"" + text + "\" is no domain name");
    }
    return new HostName(lower);
  }

  /**
   * Returns whether all labels have letters, digits, hyphens and underscores only, and no hyphen at
   * either end.
   */
  private static boolean hasForm(String name) {
    int begin = 0;
    for (int at = 0; at <= name.length(); at++) {
      if (at == name.length() || name.charAt(at) == '.') {
        int size = at - begin;
        if (size < 1
            || size > LONGEST_LABEL
            || name.charAt(begin) == '-'
            || name.charAt(at - 1) == '-') {
          return false;
        }
        begin = at + 1;
      } else if (!isLabelCharacter(name.charAt(at))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isLabelCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  }

  /** Returns whether a program on the way would take the text for an address. */
  public static boolean isAddress(String text) {
    return text.indexOf(':') >= 0 || text.indexOf('[') >= 0 || endsInNumber(text);
  }

  /**
   * Returns whether the text ends in what resolvers take for a number, including the octal and
   * hexadecimal forms of inet_aton.
   */
  private static boolean endsInNumber(String text) {
    int end = text.endsWith(".") ? text.length() - 1 : text.length();
    int begin = text.lastIndexOf('.', end - 1) + 1;
    boolean isHex = text.regionMatches(true, begin, "0x", 0, 2) && end >= begin + 2;
    for (int at = isHex ? begin + 2 : begin; at < end; at++) {
      char c = text.charAt(at);
      boolean isLetter = isHex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
      if (!isLetter && (c < '0' || c > '9')) {
        return false;
      }
    }
    return begin < end;
  }

  public boolean isBelow(HostName parent) {
    return text.endsWith("." + parent.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
