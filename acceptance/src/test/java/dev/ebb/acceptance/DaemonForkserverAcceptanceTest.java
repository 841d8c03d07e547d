package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The forkserver of a daemon; this daemon has a mount namespace of its own. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonForkserverAcceptanceTest {
  /** A file of the host that every box shows. */
  private static final String SHOWN = "/etc/ld.so.cache";

  private static final String MARK = "replaced";

  @RegisterExtension
  @Order(1)
  final TestHost host = TestHost.needing(Feature.ROOT);

  @RegisterExtension
  @Order(2)
  final DaemonProcess daemon =
      new DaemonProcess(() -> List.of("unshare", "--mount", "--propagation", "private"), Map.of());

  private EbbClient client;

  @BeforeEach
  void connect() throws Exception {
    client = daemon.client();
  }

  private String endOfTheFile() throws IOException {
    return output("tail -c " + MARK.length() + " " + SHOWN);
  }

  private String output(String script) throws IOException {
    return client.run(BoxRequest.defaults(), ExecRequest.of("sh", "-c", script)).stdout().text();
  }

  private List<Long> forkservers() {
    LongPredicate isForkserver = pid -> name(pid).equals("ebb-forkserver");
    return ProcessHandle.of(daemon.pid())
        .orElseThrow()
        .children()
        .map(ProcessHandle::pid)
        .filter(isForkserver::test)
        .toList();
  }

  private static String name(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/comm")).strip();
    } catch (IOException e) {
      return "";
    }
  }

  private void mountForDaemon(String... mount) throws Exception {
    var words = new ArrayList<>(List.of("nsenter", "--target=" + daemon.pid(), "--mount", "mount"));
    words.addAll(List.of(mount));
    assertThat(new ProcessBuilder(words).inheritIO().start().waitFor()).isZero();
  }

  @Test
  void aFileOfTheHostThatIsReplacedIsSeenByTheNextBoxes(@TempDir Path files) throws Exception {
    assertThat(endOfTheFile()).isNotEqualTo(MARK);
    List<Long> first = forkservers();
    assertThat(first).hasSize(1);
    Path replacement = Files.copy(Path.of(SHOWN), files.resolve("cache"));
    Files.write(replacement, MARK.getBytes(StandardCharsets.US_ASCII), StandardOpenOption.APPEND);
    mountForDaemon("--bind", replacement.toString(), SHOWN);
    await().atMost(DaemonProcess.PATIENCE).until(() -> endOfTheFile().equals(MARK));
    assertThat(forkservers()).hasSize(1).doesNotContainAnyElementsOf(first);
  }

  /** Mounts an overlay as systemd-sysext does. */
  @Test
  void whatIsMountedOverUsrIsSeenByTheNextBoxes(@TempDir Path files) throws Exception {
    String look = "ls /usr | grep " + MARK + " || true";
    assertThat(output(look)).isEmpty();
    Files.createFile(files.resolve(MARK));
    Files.setPosixFilePermissions(files, PosixFilePermissions.fromString("rwxr-xr-x"));
    mountForDaemon("-t", "overlay", "overlay", "-o", "lowerdir=" + files + ":/usr", "/usr");
    await().atMost(DaemonProcess.PATIENCE).until(() -> output(look).equals(MARK + "\n"));
  }
}
