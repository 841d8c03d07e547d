package dev.ebb.egress;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Which addresses may be connected to: those of the public internet, and what the operator lists.
 *
 * <p>Of version 6 all is refused but the unicast that was handed out, so what embeds an address of
 * version 4 (mapped, compatible, NAT64) is refused as well, whatever it embeds.
 */
final class AddressRules {
  /** IANA's registry of special purposes, multicast, and Azure's host address, which is public. */
  private static final List<AddressBlock> CLOSED_V4 =
      blocks(
          "0.0.0.0/8",
          "10.0.0.0/8",
          "100.64.0.0/10",
          "127.0.0.0/8",
          "168.63.129.16/32",
          "169.254.0.0/16",
          "172.16.0.0/12",
          "192.0.0.0/24",
          "192.0.2.0/24",
          "192.88.99.0/24",
          "192.168.0.0/16",
          "198.18.0.0/15",
          "198.51.100.0/24",
          "203.0.113.0/24",
          "224.0.0.0/4",
          "240.0.0.0/4");

  private static final AddressBlock OPEN_V6 = AddressBlock.parse("2000::/3");

  /** Protocol assignments (with Teredo), documentation, 6to4. */
  private static final List<AddressBlock> CLOSED_V6 =
      blocks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20");

  private final List<AddressBlock> opened;
  private final Predicate<InetAddress> isOurs;

  /** Opens {@code opened} as well. */
  AddressRules(List<AddressBlock> opened) {
    this(opened, AddressRules::isOfThisHost);
  }

  AddressRules(List<AddressBlock> opened, Predicate<InetAddress> isOurs) {
    this.opened = List.copyOf(opened);
    this.isOurs = isOurs;
  }

  private static List<AddressBlock> blocks(String... texts) {
    return Stream.of(texts).map(AddressBlock::parse).toList();
  }

  boolean allows(InetAddress address) {
    return isIn(opened, address) || (isPublic(address) && !isOurs.test(address));
  }

  private static boolean isPublic(InetAddress address) {
    return address instanceof Inet4Address
        ? !isIn(CLOSED_V4, address)
        : OPEN_V6.contains(address) && !isIn(CLOSED_V6, address);
  }

  private static boolean isIn(List<AddressBlock> blocks, InetAddress address) {
    return blocks.stream().anyMatch(block -> block.contains(address));
  }

  /** A public address of this host leads to what listens here, and thinks of it as local. */
  private static boolean isOfThisHost(InetAddress address) {
    try {
      return NetworkInterface.getByInetAddress(address) != null;
    } catch (SocketException e) {
      // It is unknown.
      return true;
    }
  }
}
