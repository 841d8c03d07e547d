package dev.ebb.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which addresses a box may be led to. */
class AddressRulesTest {
  private static final AddressRules CLOSED = new AddressRules(List.of());

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::5db8:d822",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "4000::1"
      })
  void privateAddressesAreClosed(String address) {
    assertThat(CLOSED.allows(InetAddress.ofLiteral(address))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.15",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860:4860::8888",
        "2400:cb00::1"
      })
  void publicAddressesAreOpen(String address) {
    assertThat(CLOSED.allows(InetAddress.ofLiteral(address))).isTrue();
  }

  /** Java takes most of them for what is mapped, but not all that make such an address. */
  @Test
  void aMappedAddressIsClosedAsWhatItMapsAndAsItself() throws UnknownHostException {
    assertThat(CLOSED.allows(InetAddress.ofLiteral("::ffff:127.0.0.1"))).isFalse();
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = (byte) 0xff;
    mapped[12] = 93;
    assertThat(CLOSED.allows(Inet6Address.getByAddress("mapped", mapped, -1))).isFalse();
  }

  @Test
  void anAddressOfThisHostIsClosedWhateverItIs() throws Exception {
    for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
      assertThat(each.inetAddresses().toList()).noneMatch(CLOSED::allows);
    }
  }

  @Test
  void aPublicAddressOfThisHostIsClosed() {
    var reachable = InetAddress.ofLiteral("1.1.1.1");
    assertThat(new AddressRules(List.of(), reachable::equals).allows(reachable)).isFalse();
    assertThat(new AddressRules(List.of(), _ -> false).allows(reachable)).isTrue();
  }

  @Test
  void theOperatorOpensWhatHeLists() {
    var rules =
        new AddressRules(List.of(AddressBlock.parse("10.1.0.0/16"), AddressBlock.parse("::1/128")));
    assertThat(rules.allows(InetAddress.ofLiteral("10.1.2.3"))).isTrue();
    assertThat(rules.allows(InetAddress.ofLiteral("10.2.0.1"))).isFalse();
    assertThat(rules.allows(InetAddress.ofLiteral("::1"))).isTrue();
    assertThat(rules.allows(InetAddress.ofLiteral("::2"))).isFalse();
    assertThat(rules.allows(InetAddress.ofLiteral("1.1.1.1"))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "::/129",
        "name/8",
        "10.0.0.0/-1",
        "10.0.0.0/8/8"
      })
  void anInvalidBlockIsRefused(String text) {
    assertThatThrownBy(() -> AddressBlock.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("bad block of addresses");
  }
}
