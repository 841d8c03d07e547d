package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The names that a policy allows, and its text form. */
class EgressPolicyTest {
  private static EgressPolicy policy(String... rules) {
    return EgressPolicy.parse(List.of(rules));
  }

  private static boolean allows(String rule, String name, int port) {
    return policy(rule).allows(new Destination(HostName.ofAscii(name), port));
  }

  @Test
  void aNameIsAllowedAtThePortsOfTheWebOnly() {
    assertThat(allows("example.org", "example.org", 443)).isTrue();
    assertThat(allows("example.org", "example.org", 80)).isTrue();
    assertThat(allows("example.org", "example.org", 22)).isFalse();
    assertThat(allows("example.org", "www.example.org", 443)).isFalse();
    assertThat(allows("example.org", "example.org.evil.net", 443)).isFalse();
    assertThat(allows("example.org", "badexample.org", 443)).isFalse();
  }

  @Test
  void aPortIsThatPortAlone() {
    assertThat(allows("example.org:8443", "example.org", 8443)).isTrue();
    assertThat(allows("example.org:8443", "example.org", 443)).isFalse();
    assertThat(allows("example.org:*", "example.org", 22)).isTrue();
  }

  @Test
  void aStarIsAllBelowANameAndNotTheName() {
    assertThat(allows("*.example.org", "www.example.org", 443)).isTrue();
    assertThat(allows("*.example.org", "a.b.example.org", 443)).isTrue();
    assertThat(allows("*.example.org", "example.org", 443)).isFalse();
    assertThat(allows("*.example.org", "badexample.org", 443)).isFalse();
    assertThat(allows("*", "any.where", 443)).isTrue();
    assertThat(allows("*", "any.where", 22)).isFalse();
  }

  @Test
  void nothingIsAllowedByNothing() {
    assertThat(EgressPolicy.NOTHING.allows(new Destination(HostName.ofAscii("a.b"), 80))).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "Example.ORG, example.org",
    "example.org., example.org",
    "bücher.example, xn--bcher-kva.example",
    "BÜCHER.example., xn--bcher-kva.example",
    "XN--BCHER-KVA.example, xn--bcher-kva.example",
    "*.Example.org.:8443, *.example.org:8443",
    "with_underscore.example, with_underscore.example",
    "localhost, localhost",
  })
  void aNameHasOneForm(String written, String form) {
    assertThat(policy(written).rules()).containsExactly(form);
    assertThat(policy(written)).isEqualTo(policy(form));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ".",
        "..",
        "a..b",
        "*.",
        "*a.org",
        "a.*.org",
        "www.*",
        "**.org",
        "-a.org",
        "a-.org",
        "a b.org",
        "https://example.org",
        "example.org/path",
        "user@example.org",
        "example.org:",
        "example.org:0",
        "example.org:65536",
        "example.org:080",
        "example.org:http",
        "example.org:1:2",
        "1.2.3.4",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "1.2.3.4.",
        "[::1]",
        "::1",
        "*.1.2.3.4",
        "１２７.0.0.1",
        "example.0x7f",
        "a\u0000b.org",
        "a\nb.org"
      })
  void anInvalidRuleIsRefusedWithAReason(String rule) {
    assertThatThrownBy(() -> policy(rule))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("bad egress rule \"" + rule + "\": ");
  }

  @Test
  void aNameThatIsTooLongIsNone() {
    String label = "a".repeat(63);
    assertThat(policy(label + ".org").rules()).hasSize(1);
    assertThatThrownBy(() -> policy("a" + label + ".org")).hasMessageContaining("no domain name");
    String most = String.join(".", label, label, label, "a".repeat(61));
    assertThat(policy(most).rules()).containsExactly(most);
    assertThatThrownBy(() -> policy(most + "a")).hasMessageContaining("no domain name");
  }

  @ParameterizedTest
  @CsvSource({
    "example.org, example.org, true",
    "example.org, example.org:443, true",
    "example.org, example.org:22, false",
    "example.org:443, example.org, false",
    "example.org:*, example.org, true",
    "example.org, www.example.org, false",
    "*.example.org, www.example.org, true",
    "*.example.org, *.a.example.org, true",
    "*.example.org, *.example.org:80, true",
    "*.example.org, example.org, false",
    "*.a.example.org, *.example.org, false",
    "www.example.org, *.example.org, false",
    "*, *.example.org, true",
    "*, *, true",
    "*.org, *, false",
    "*, example.org:22, false",
    "*:*, example.org:22, true",
  })
  void onePolicyCoversAnother(String own, String asked, boolean covers) {
    assertThat(policy(own).firstBeyond(policy(asked)).isEmpty()).isEqualTo(covers);
  }

  @Test
  void theFirstRuleThatIsNotCoveredIsNamed() {
    assertThat(policy("a.org", "*.b.org").firstBeyond(policy("x.b.org", "c.org", "d.org")))
        .contains("c.org");
  }

  @Test
  void aPolicyHasABound() {
    assertThatThrownBy(() -> EgressPolicy.parse(java.util.Collections.nCopies(257, "a.org")))
        .hasMessageContaining("256");
  }
}
