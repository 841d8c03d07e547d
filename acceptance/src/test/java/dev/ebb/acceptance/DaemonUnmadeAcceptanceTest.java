package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that takes a while to make a box, and then fails. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonUnmadeAcceptanceTest {
  private final Path init = slowAndFailing();

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(List::of, Map.of("JDK_JAVA_OPTIONS", "-Debb.init=" + init));

  /** Stands in for init. A box is given up when the file beside it is there. */
  private static Path slowAndFailing() {
    try {
      var readable =
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x"));
      Path directory = Files.createTempDirectory(Path.of("/tmp"), "ebb-unmade", readable);
      String script =
          "#!/bin/sh\n[ $1 != outside ] || while [ ! -e %s ]; do sleep 0.05; done; exit 1\n"
              .formatted(directory.resolve("end"));
      Path file = Files.createFile(directory.resolve("init"), readable);
      return Files.writeString(file, script);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @AfterEach
  void remove() throws IOException {
    Files.deleteIfExists(init.resolveSibling("end"));
    Files.delete(init);
    Files.delete(init.getParent());
  }

  private static <T> FutureTask<T> aside(Callable<T> call) {
    var task = new FutureTask<>(call);
    Thread.ofVirtual().start(task);
    return task;
  }

  private Wire.Answer ask(String method, String target, String body)
      throws IOException, InterruptedException {
    String key = "Authorization: Bearer " + daemon.key();
    return Wire.ask(daemon.uri(), method, target, body, key);
  }

  /** The answer to a request that waits for the box is that there is none, without the reason. */
  @Test
  void workWithABoxThatIsNeverMadeIsNotFound() throws Exception {
    var creation = aside(() -> ask("POST", "/v1/boxes", "{\"name\":\"late\"}"));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> ask("GET", "/v1/boxes/late", "").status() == 200);
    var exec = aside(() -> ask("POST", "/v1/boxes/late/execs", "{\"command\":[\"true\"]}"));
    var read = aside(() -> ask("GET", "/v1/boxes/late/files?path=x", ""));
    // They wait. A later request gets the same answer.
    for (int i = 0; i < 3; i++) {
      assertThat(ask("GET", "/v1/boxes/late", "").status()).isEqualTo(200);
    }
    assertThat(exec.isDone() || read.isDone()).isFalse();
    Files.createFile(init.resolveSibling("end"));
    assertThat(creation.get(60, TimeUnit.SECONDS).status()).isEqualTo(502);
    for (FutureTask<Wire.Answer> each : List.of(exec, read)) {
      Wire.Answer answer = each.get(60, TimeUnit.SECONDS);
      assertThat(answer.status()).as(answer.body()).isEqualTo(404);
    }
  }
}
