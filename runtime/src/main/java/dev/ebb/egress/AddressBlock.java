package dev.ebb.egress;

import java.net.InetAddress;
import java.util.regex.Pattern;

/** Addresses that begin with the same bits, as {@code 10.0.0.0/8} or {@code fc00::/7}. */
public final class AddressBlock {
  private static final Pattern BITS = Pattern.compile("[0-9]{1,3}");

  private final byte[] prefix;
  private final int bits;

  private AddressBlock(byte[] prefix, int bits) {
    this.prefix = prefix;
    this.bits = bits;
  }

  /** Throws with a reason. */
  public static AddressBlock parse(String text) {
    int slash = text.indexOf('/');
    String size = text.substring(slash + 1);
    if (slash < 0 || !BITS.matcher(size).matches()) {
      throw bad(text);
    }
    byte[] prefix;
    try {
      prefix = InetAddress.ofLiteral(text.substring(0, slash)).getAddress();
    } catch (IllegalArgumentException e) {
      throw bad(text);
    }
    int bits = Integer.parseInt(size);
    if (bits > prefix.length * Byte.SIZE) {
      throw bad(text);
    }
    return new AddressBlock(prefix, bits);
  }

  private static IllegalArgumentException bad(String text) {
    return new IllegalArgumentException(
        "bad block of addresses \"" + text + "\": write it as 10.0.0.0/8 or fc00::/7");
  }

  boolean contains(InetAddress address) {
    byte[] bytes = address.getAddress();
    if (bytes.length != prefix.length) {
      return false;
    }
    for (int bit = 0; bit < bits; bit++) {
      int mask = 0x80 >> (bit % Byte.SIZE);
      if (((bytes[bit / Byte.SIZE] ^ prefix[bit / Byte.SIZE]) & mask) != 0) {
        return false;
      }
    }
    return true;
  }
}
