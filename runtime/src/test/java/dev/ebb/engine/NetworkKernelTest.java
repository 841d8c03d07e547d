package dev.ebb.engine;

import static dev.ebb.engine.Prober.onHost;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.Network;
import dev.ebb.testkit.LeakChecked;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The network that a box can reach: nothing by default, and never sockets without a namespace. */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class NetworkKernelTest {
  private static final String AF_VSOCK = "40";
  private static final String UNIX_INET_NETLINK_INET6 = "1 2 10 16";
  private static final BoxSpec WITH_HOST_NETWORK = BoxSpec.defaults().withNetwork(Network.HOST);

  @RegisterExtension final Prober prober = new Prober();

  /** A TCP port and an abstract socket of the host that listen. */
  private record Listener(Process process, String port, String name) implements AutoCloseable {
    static Listener open() throws IOException {
      String name = "ebb-test-" + Long.toHexString(ThreadLocalRandom.current().nextLong());
      var process = new ProcessBuilder(Prober.python("probe.py", "listen", name)).start();
      var output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
      return new Listener(process, output.readLine(), name);
    }

    @Override
    public void close() throws IOException {
      Prober.end(process);
    }
  }

  @Test
  void aBoxHasALoopbackOfItsOwnAndNothingElse() throws IOException, InterruptedException {
    assertThat(prober.inBox("interfaces")).isEqualTo("lo");
    assertThat(prober.inBox(WITH_HOST_NETWORK, "interfaces")).isEqualTo(onHost("interfaces"));
    try (var listener = Listener.open()) {
      assertThat(prober.inBox("connect_tcp", listener.port())).isEqualTo("ECONNREFUSED");
      assertThat(prober.inBox(WITH_HOST_NETWORK, "connect_tcp", listener.port())).isEqualTo("yes");
    }
  }

  /** With the host's network they are reached, as docs/threat-model.md states. */
  @Test
  void aBoxReachesNoAbstractSocketOfTheHost() throws IOException, InterruptedException {
    try (var listener = Listener.open()) {
      assertThat(prober.inBox("connect_abstract", listener.name())).isEqualTo("ECONNREFUSED");
      assertThat(prober.inBox(WITH_HOST_NETWORK, "connect_abstract", listener.name()))
          .isEqualTo("yes");
    }
  }

  @Test
  void twoBoxesDoNotReachEachOther() throws IOException, InterruptedException {
    var one = prober.engine().create(BoxSpec.defaults());
    var other = prober.engine().create(BoxSpec.defaults());
    var listen = Prober.probe("listen", "meeting").withInput();
    try (var exec = prober.engine().start(one, listen)) {
      while (exec.stdout().size() == 0) {
        assertThat(exec.awaitOutput(0, 0)).isTrue();
      }
      assertThat(prober.in(other, "connect_abstract", "meeting")).isEqualTo("ECONNREFUSED");
      assertThat(prober.in(one, "connect_abstract", "meeting")).isEqualTo("yes");
    }
  }

  @Test
  void aBoxMakesSocketsOfFourFamiliesOnly() throws IOException, InterruptedException {
    assertThat(prober.inBox("families")).isEqualTo(UNIX_INET_NETLINK_INET6);
    assertThat(prober.inBox(WITH_HOST_NETWORK, "families")).isEqualTo(UNIX_INET_NETLINK_INET6);
    assertThat(onHost("families").split(" ")).hasSizeGreaterThan(4);
  }

  @Test
  void aBoxHasNoVsock() throws IOException, InterruptedException {
    assertThat(prober.inBox("families").split(" ")).doesNotContain(AF_VSOCK);
    assertThat(prober.inBox(WITH_HOST_NETWORK, "families").split(" ")).doesNotContain(AF_VSOCK);
    boolean exists = java.util.List.of(onHost("families").split(" ")).contains(AF_VSOCK);
    Assumptions.assumeTrue(exists, "host lacks vsock, to compare with");
  }

  @Test
  void aBoxSpeaksOnlyTheNetlinkOfRoutes() throws IOException, InterruptedException {
    assertThat(prober.inBox("netlinks")).isEqualTo("0");
    assertThat(prober.inBox(WITH_HOST_NETWORK, "netlinks")).isEqualTo("0");
    assertThat(onHost("netlinks").split(" ")).hasSizeGreaterThan(1);
  }
}
