package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that may have no more descriptors. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonDescriptorsAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** KERNEL: the limit is on the numbers, so below the first free one there is none left. */
  private int firstFree() {
    int number = 0;
    while (Files.exists(
        Path.of("/proc/" + daemon.pid() + "/fd/" + number), LinkOption.NOFOLLOW_LINKS)) {
      number++;
    }
    return number;
  }

  private void limit(int soft) throws IOException, InterruptedException {
    Process prlimit =
        new ProcessBuilder(
                "prlimit", "--pid", Long.toString(daemon.pid()), "--nofile=" + soft + ":")
            .inheritIO()
            .start();
    assertThat(prlimit.waitFor()).isZero();
  }

  private long softLimit() throws IOException {
    return Files.readAllLines(Path.of("/proc/" + daemon.pid() + "/limits")).stream()
        .filter(line -> line.startsWith("Max open files"))
        .map(line -> Long.parseLong(line.split(" {2,}")[1]))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void withoutADescriptorLeftThingsEndAndNothingBegins() throws Exception {
    EbbClient client = daemon.client();
    Box first = client.boxes().create(BoxRequest.defaults());
    Exec exec = client.execs(first.id()).start(ExecRequest.of("sh", "-c", "sleep 1000 & wait"));
    Box second = client.boxes().create(BoxRequest.defaults());
    client.execs(second.id()).start(ExecRequest.of("sleep", "1000"));
    int soft = Math.toIntExact(softLimit());
    limit(firstFree());
    try {
      assertThat(client.execs(first.id()).kill(exec.number(), Duration.ZERO).status())
          .isEqualTo("killed");
      assertThat(client.boxes().remove(first.id(), true).clean()).isTrue();
      EbbException refusal =
          catchThrowableOfType(
              EbbException.class, () -> client.run(BoxRequest.defaults(), ExecRequest.of("true")));
      assertThat(refusal.status()).isEqualTo(503);
      assertThat(refusal.code()).isEqualTo("pressure");
      assertThat(refusal.detail()).contains("descriptors").contains("RLIMIT_NOFILE");
      // A new connection takes a descriptor, too: the watch makes room for it.
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status())
                      .isEqualTo(200));
      assertThat(client.boxes().remove(second.id(), true).clean()).isTrue();
      assertThat(client.pressure().level()).isEqualTo("full");
    } finally {
      limit(soft);
    }
    await().atMost(PATIENCE).until(() -> client.pressure().level().equals("ok"));
    assertThat(client.run(BoxRequest.defaults(), ExecRequest.of("echo", "1")).stdout().text())
        .isEqualTo("1\n");
  }
}
