package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Files that were written to detached boxes, and acknowledged, right before SIGTERM to their daemon
 * exist under the next daemon.
 */
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class DaemonDetachedFilesAcceptanceTest {
  private static final int WRITERS = 16;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  @Test
  void whatWasAcknowledgedIsThereAfterATermination() throws Exception {
    stress(1, 12);
  }

  @Test
  @Tag("long")
  void whatWasAcknowledgedIsThereAfterManyTerminations() throws Exception {
    stress(8, 30);
  }

  private void stress(int rounds, int most) throws Exception {
    for (int round = 0; round < rounds; round++) {
      // The answers that callers received: boxes, and the last content of each file.
      Map<String, String> written = new ConcurrentHashMap<>();
      writeUntilTheEnd(written, round, most);
      daemon.start();
      assertThat(written).isNotEmpty();
      assertThere(written);
    }
  }

  /** Callers make boxes and write files, and the daemon gets SIGTERM in the middle of it. */
  private void writeUntilTheEnd(Map<String, String> written, int round, int most) throws Exception {
    EbbClient client = daemon.client();
    var half = new CountDownLatch(WRITERS * most / 3);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> all = new ArrayList<>();
      for (int writer : IntStream.range(0, WRITERS).toArray()) {
        all.add(
            threads.submit(
                () -> {
                  write(client, written, round + "-" + writer, most, half);
                  return null;
                }));
      }
      half.await();
      assertThat(daemon.stop()).isZero();
      for (Future<?> each : all) {
        each.get();
      }
    }
  }

  private static void write(
      EbbClient client, Map<String, String> written, String id, int most, CountDownLatch half) {
    try {
      for (int i = 0; i < most; i++) {
        Box box = client.boxes().create(BoxRequest.defaults().withDetached());
        String content = id + "-" + i;
        client.files(box.id()).write("/workspace/file", content.getBytes(UTF_8));
        written.put(box.id(), content);
        half.countDown();
      }
    } catch (EbbException e) {
      // The daemon is stopping, and reports that.
    } catch (IOException e) {
      // The daemon has ended.
    } finally {
      for (int i = 0; i < most; i++) {
        half.countDown();
      }
    }
  }

  private void assertThere(Map<String, String> written) throws IOException {
    EbbClient next = daemon.client();
    var missing = new ArrayList<String>();
    for (var each : written.entrySet()) {
      String box = each.getKey();
      try {
        BoxState state = next.boxes().inspect(box).state();
        byte[] found = next.files(box).read("/workspace/file").readAllBytes();
        if (!new String(found, UTF_8).equals(each.getValue())) {
          missing.add(box + " " + state + ": " + new String(found, UTF_8));
        }
      } catch (EbbException e) {
        missing.add(box + ": " + e.status() + " " + e.detail());
      }
    }
    // Also the boxes of callers that received no answer.
    for (Box box : next.boxes().list(BoxQuery.all())) {
      next.boxes().remove(box.id(), true);
    }
    assertThat(missing).as("of %d boxes", written.size()).isEmpty();
  }
}
