package dev.ebb.server.access;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.backend.Network;
import dev.ebb.egress.EgressPolicy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a tenant may let its boxes reach. */
class PolicyTest {
  private static final Caller TENANT = new Caller("acme", false);
  private static final Caller ADMIN = new Caller("acme", true);

  private static Policy allowing(String... rules) {
    EgressPolicy egress = EgressPolicy.parse(List.of(rules));
    return new Policy(List.of(), List.of(), false, egress, Caps.NONE);
  }

  private static Network network(String text) {
    return Network.parse(text);
  }

  @Test
  void byDefaultATenantMayLetItsBoxesReachNothing() {
    assertThatCode(() -> Policy.STRICT.check(TENANT, network("none"))).doesNotThrowAnyException();
    assertThatThrownBy(() -> Policy.STRICT.check(TENANT, network("allow=a.org")))
        .hasMessage(
            "the policy of this server does not allow boxes to reach anything"
                + " (policy.egress is empty)");
    assertThatThrownBy(() -> Policy.STRICT.check(TENANT, network("host")))
        .hasMessageContaining("the network of the host");
  }

  @Test
  void aTenantMayAskForWhatIsListed() {
    Policy policy = allowing("a.org", "*.b.org");
    assertThatCode(() -> policy.check(TENANT, network("allow=a.org,x.b.org:443")))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> policy.check(TENANT, network("allow=a.org,*")))
        .hasMessage(
            "the policy of this server does not allow boxes to reach *, only a.org,*.b.org");
  }

  @Test
  void anAdminMayAskForAnything() {
    assertThatCode(() -> Policy.STRICT.check(ADMIN, network("allow=*:*")))
        .doesNotThrowAnyException();
    assertThatCode(() -> Policy.STRICT.check(ADMIN, network("host"))).doesNotThrowAnyException();
  }
}
