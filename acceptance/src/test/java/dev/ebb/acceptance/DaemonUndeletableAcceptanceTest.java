package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.NotFoundException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A removal that cannot finish is reported by its certificate at every door, and finished later.
 */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonUndeletableAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private EbbClient client;

  @BeforeEach
  void connect() throws IOException {
    TestHost.require(Feature.ROOT);
    client = daemon.client();
  }

  private static void run(String... command) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  private Path directoryOf(String id) throws IOException {
    try (var below = Files.walk(daemon.home())) {
      return below.filter(path -> path.endsWith(id)).findFirst().orElseThrow();
    }
  }

  /** A box with a directory that something is mounted on; its directory. */
  private Path mounted(String name) throws IOException, InterruptedException {
    String id = client.boxes().create(BoxRequest.defaults().withName(name)).id();
    client.execs(name).run(ExecRequest.of("head", "-c", "100000", "/dev/zero"));
    Path directory = directoryOf(id);
    run("mount", "-t", "tmpfs", "ebb-test", directory.toString());
    return directory;
  }

  private void awaitGone(String name) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () ->
                assertThatThrownBy(() -> client.boxes().inspect(name))
                    .isInstanceOf(NotFoundException.class));
  }

  @Test
  void overRestAndOnTheCommandLine() throws Exception {
    Path directory = mounted("kept");
    try {
      Certificate certificate = client.boxes().remove("kept", true);
      assertThat(certificate.clean()).isFalse();
      assertThat(certificate.toString())
          .contains("released process 1", "stuck: directory " + directory, "EBUSY", "mount");
      assertThat(client.boxes().inspect("kept").state()).isEqualTo(BoxState.STUCK);
      assertThat(client.boxes().inspect("kept").certificate())
          .isNotNull()
          .satisfies(proof -> assertThat(proof.clean()).isFalse());

      var removed = daemon.ebb().call("rm", "kept");
      assertThat(removed.code()).isEqualTo(125);
      assertThat(removed.text()).contains("stuck: directory " + directory);
      assertThat(removed.stderr()).isEqualTo("ebb: kept is stuck; see ebb why kept\n");
      assertThat(daemon.ebb().call("why", "kept").text()).contains("mounted", directory.toString());
    } finally {
      run("umount", directory.toString());
    }
    awaitGone("kept");
    assertThat(directory).doesNotExist();
  }

  @Test
  void overMcp() throws Exception {
    var wire = new McpWire(daemon.uri(), daemon.key());
    String session = wire.begin();
    wire.post(session, McpWire.run("head -c 100000 /dev/zero"));
    String id = client.boxes().list(BoxQuery.all()).getFirst().id();
    Path directory = directoryOf(id);
    run("mount", "-t", "tmpfs", "ebb-test", directory.toString());
    try {
      var answer =
          wire.post(
              session,
              """
              {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"remove_box","arguments":{"box":"%s"}}}"""
                  .formatted(id));
      assertThat(answer.body()).contains("STUCK directory " + directory, "\"clean\":false");
    } finally {
      run("umount", directory.toString());
    }
    awaitGone(id);
    wire.end(session);
  }
}
