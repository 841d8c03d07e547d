package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A name server that receives everything and answers nothing. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonResolverAcceptanceTest {
  private static final String SILENT = "127.53.53.53";

  @RegisterExtension
  final DaemonProcess daemon = new DaemonProcess(DaemonResolverAcceptanceTest::prefix, Map.of());

  /** The daemon has mounts of its own, so this is the only name server that it knows. */
  private static List<String> prefix() {
    TestHost.require(Feature.ROOT);
    String command =
        "mount -t tmpfs none /mnt && echo nameserver "
            + SILENT
            + " >/mnt/resolv.conf && mount --bind /mnt/resolv.conf /etc/resolv.conf"
            + " && umount -l /mnt && exec \"$@\"";
    return List.of("unshare", "--mount", "--propagation", "private", "sh", "-c", command, "sh");
  }

  @BeforeAll
  static void requireGlibc() throws Exception {
    boolean isOwn =
        Files.readAllLines(Path.of("/etc/nsswitch.conf")).stream()
            .anyMatch(line -> line.matches("hosts:\\s+files\\s+dns\\s*"));
    assumeTrue(isOwn, "host lacks a resolver without detours");
  }

  /** The daemon asks it twice, for 2 s each; by default the resolver would wait for 5 s. */
  @Test
  void holdsAThreadForLessThanTheTimeOfTheResolver() throws Exception {
    try (var server = new DatagramSocket(null);
        EbbClient client = daemon.client()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(InetAddress.ofLiteral(SILENT), 53));
      String box = client.boxes().create(BoxRequest.defaults().withNetwork("allow=*")).id();
      String report = "%{http_code} %{time_total}";
      var fetched =
          client
              .execs(box)
              .run(
                  ExecRequest.of(
                      "curl", "-s", "-o", "/dev/null", "-w", report, "http://silent.example.org/"));
      String[] words = fetched.stdout().text().split(" ");
      assertThat(words[0]).isEqualTo("502");
      assertThat(Double.parseDouble(words[1])).isBetween(3.0, 9.0);
      assertThat(client.execs(box).run(ExecRequest.of("env")).stdout().text())
          .doesNotContain("RES_OPTIONS");
      assertThat(client.boxes().remove(box, true).clean()).isTrue();
    }
  }
}
