package dev.ebb.server.service.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.EgressPolicy;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The destinations that a tenant may allow its boxes. */
class PolicyTest {
  private static final Caller TENANT = new Caller("acme", Role.USER);
  private static final Caller ADMIN = new Caller("acme", Role.ADMIN);

  private static Policy allowing(String... rules) {
    EgressPolicy egress = EgressPolicy.parse(List.of(rules));
    return new Policy(List.of(), List.of(), false, egress, List.of(), Caps.NONE);
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

  @Test
  void aTenantMayChooseOnlyTheBackendsThatAreListed() {
    BoxSpec some = BoxSpec.defaults().withBackend("some");
    assertThatThrownBy(() -> Policy.STRICT.check(TENANT, some))
        .hasMessage(
            "the policy of this server does not allow to choose a backend"
                + " (policy.backends is empty)");
    var policy =
        new Policy(List.of(), List.of(), false, EgressPolicy.NOTHING, List.of("some"), Caps.NONE);
    assertThatCode(() -> policy.check(TENANT, some)).doesNotThrowAnyException();
    assertThatThrownBy(() -> policy.check(TENANT, some.withBackend("other")))
        .hasMessage("the policy of this server does not allow the backend other, only some");
    assertThatCode(() -> Policy.STRICT.check(ADMIN, some)).doesNotThrowAnyException();
  }

  /** The error for a path, which nothing of the host may influence. */
  private static String refusal(Policy policy, Path source, boolean isPackages) {
    var spec =
        isPackages
            ? BoxSpec.defaults().asking(List.of(), List.of(source))
            : BoxSpec.defaults().asking(List.of(new Mount(source, "/mnt", true)), List.of());
    var refusal = catchThrowableOfType(SandboxException.class, () -> policy.check(TENANT, spec));
    assertThat(refusal.code()).isEqualTo(ErrorCode.FORBIDDEN);
    return String.valueOf(refusal.getMessage()).replace(source.toString(), "PATH");
  }

  @Test
  void aTenantLearnsNothingAboutTheHostFromARefusal(@TempDir Path host) throws IOException {
    Path allowed = Files.createDirectory(host.resolve("allowed"));
    Path secret = Files.writeString(host.resolve("secret"), "x");
    Path to = Files.createSymbolicLink(allowed.resolve("to"), secret);
    Path nowhere = Files.createSymbolicLink(allowed.resolve("nowhere"), host.resolve("absent"));
    Path up = Files.createSymbolicLink(allowed.resolve("up"), host);
    Path closed = Files.createDirectory(host.resolve("closed"));
    Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
    var policy =
        new Policy(List.of(allowed), List.of(), false, EgressPolicy.NOTHING, List.of(), Caps.NONE);
    for (boolean isPackages : new boolean[] {false, true}) {
      Set<String> messages = new HashSet<>();
      for (Path path :
          List.of(
              secret,
              host.resolve("absent"),
              closed,
              closed.resolve("x"),
              to,
              nowhere,
              up.resolve("secret"),
              up.resolve("absent"),
              allowed.resolve("absent"),
              allowed.resolve("../secret"),
              allowed.resolve("../absent"))) {
        messages.add(refusal(policy, path, isPackages));
      }
      assertThat(messages).hasSize(1);
    }
    assertThatCode(
            () ->
                policy.check(
                    TENANT,
                    BoxSpec.defaults()
                        .asking(List.of(new Mount(allowed, "/mnt", true)), List.of())))
        .doesNotThrowAnyException();
  }

  @Test
  void anAdminLearnsWhatIsWrong(@TempDir Path host) {
    var absent =
        BoxSpec.defaults()
            .asking(List.of(new Mount(host.resolve("absent"), "/mnt", true)), List.of());
    assertThatThrownBy(() -> Policy.STRICT.check(ADMIN, absent))
        .hasMessageContaining("no such file or directory");
  }

  /** Nothing of the host is looked at before the policy was asked. */
  @Test
  void readingAnOrderLooksAtNothing() {
    var nowhere = new Mount(Path.of("/no/such/path"), "/mnt", true);
    assertThatCode(() -> BoxSpec.defaults().asking(List.of(nowhere), List.of(Path.of("/nowhere"))))
        .doesNotThrowAnyException();
    var badTarget = new Mount(Path.of("/no/such/path"), "/proc/x", true);
    assertThatThrownBy(() -> BoxSpec.defaults().asking(List.of(badTarget), List.of()))
        .hasMessageContaining("bad path");
  }
}
