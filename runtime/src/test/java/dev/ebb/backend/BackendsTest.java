package dev.ebb.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Network;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The choice of the backend that makes a box, and the order in which backends are closed. */
class BackendsTest {
  private static final ByteSize SIZE = ByteSize.mebibytes(1);
  private static final Capabilities NONE = Capabilities.of();

  private final List<String> closed = new ArrayList<>();
  private final SandboxBackend copier = named("copier", Capabilities.of(Capability.ZYGOTE));
  private final SandboxBackend quick = named("quick", NONE);
  private final SandboxBackend any =
      named("any", Capabilities.of(Capability.HOST_NETWORK, Capability.EGRESS));
  private final SandboxBackend byName = named("by-name", any.capabilities());
  private final Backends backends = new Backends(List.of(copier, quick, any), List.of(byName));

  private SandboxBackend named(String name, Capabilities capabilities) {
    return new Named(name, capabilities);
  }

  /** A backend that makes no box. */
  private final class Named implements SandboxBackend {
    private final String name;
    private final Capabilities capabilities;

    private Named(String name, Capabilities capabilities) {
      this.name = name;
      this.capabilities = capabilities;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Capabilities capabilities() {
      return capabilities;
    }

    @Override
    public boolean launch(LaunchOrder order, Launch.Begun begun) {
      return false;
    }

    @Override
    public Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init) {
      throw new AssertionError();
    }

    @Override
    public void close() throws KernelException {
      closed.add(name);
      if (!name.equals("any")) {
        throw new KernelException("close " + name, Errno.EIO);
      }
    }
  }

  private static SandboxSpec spec(Network network) {
    return new SandboxSpec(network, true, List.of(), List.of(), List.of(), SIZE, SIZE);
  }

  @Test
  void theFirstCapableBackendMakesABoxAndACopierOnlyMakesCopies() {
    assertThat(backends.candidates(spec(Network.NONE), false)).containsExactly(quick, any);
    assertThat(backends.candidates(spec(Network.NONE), true)).containsExactly(copier, quick, any);
    assertThat(backends.candidates(spec(Network.HOST), true)).containsExactly(any);
    Network allowed = Network.allow(List.of("example.org"));
    assertThat(backends.candidates(spec(allowed), false)).containsExactly(any);
    assertThat(backends.fallback()).isEqualTo(any);
    assertThat(backends.copier()).contains(copier);
  }

  @Test
  void eachBackendIsFoundByItsName() {
    assertThat(backends.names()).containsExactly("copier", "quick", "any", "by-name");
    assertThat(backends.find("by-name")).contains(byName);
    assertThat(backends.find("no-name")).isEmpty();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Backends(List.of(any), List.of(named("any", NONE))));
    assertThatIllegalArgumentException().isThrownBy(() -> new Backends(List.of(), List.of(any)));
  }

  @Test
  void backendsAreClosedInReverseOrderEvenIfOneFails() {
    assertThatExceptionOfType(KernelException.class)
        .isThrownBy(backends::close)
        .withMessageContaining("close by-name")
        .satisfies(e -> assertThat(e.getSuppressed()).hasSize(2));
    assertThat(closed).containsExactly("by-name", "any", "quick", "copier");
  }
}
