package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Offsets;
import dev.ebb.testkit.LeakChecked;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The history of boxes that ended before a daemon started: it keeps some, and forgets the rest. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonHistoryAcceptanceTest {
  private static final int KEPT = 100;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** A box that was stopped under a daemon that was killed afterwards. */
  private String stopOne() throws Exception {
    EbbClient client = daemon.client();
    Box box = client.boxes().create(BoxRequest.defaults().withDetached());
    client.execs(box.id()).run(ExecRequest.of("echo", "words"));
    client.boxes().stop(box.id(), Duration.ZERO);
    daemon.kill();
    return box.id();
  }

  private Set<String> listed() throws Exception {
    var listed = daemon.ebb().call("ls", "-a", "-q");
    assertThat(listed.code()).as(listed.stderr()).isZero();
    return new TreeSet<>(listed.text().lines().toList());
  }

  /** The next daemon knows {@code kept} at once, and soon nothing is left of the others. */
  private void startAndFind(EndedBoxes ended, Set<String> kept) throws Exception {
    daemon.start();
    assertThat(listed()).isEqualTo(kept);
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () -> {
              assertThat(ended.onDisk()).isEqualTo(kept);
              assertThat(ended.onLedger()).isEqualTo(kept);
            });
    EbbClient client = daemon.client();
    for (String box : kept) {
      var output = Followed.all(client.execs(box).follow(1, Offsets.START)).stdout();
      assertThat(new String(output, UTF_8)).isEqualTo("words\n");
      assertThat(client.boxes().remove(box, false).clean()).isTrue();
    }
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    assertThat(ended.onDisk()).isEmpty();
    assertThat(ended.onLedger()).isEmpty();
  }

  private void startAfter(int count) throws Exception {
    String first = stopOne();
    var kept = new TreeSet<>(Set.of(first));
    var ended = new EndedBoxes(daemon.home(), first);
    for (int i = 1; i < count; i++) {
      String copy = ended.copy(Duration.ofSeconds(i));
      if (i < KEPT) {
        kept.add(copy);
      }
    }
    startAndFind(ended, kept);
  }

  @Test
  void theLatestHundredAreKept() throws Exception {
    startAfter(300);
  }

  @Test
  @Tag("long")
  void theLatestHundredOfThousandsAreKept() throws Exception {
    startAfter(5000);
  }

  @Test
  void whatEndedMoreThanADayAgoIsForgotten() throws Exception {
    String first = stopOne();
    var kept = new TreeSet<>(Set.of(first));
    var ended = new EndedBoxes(daemon.home(), first);
    for (int i = 0; i < 20; i++) {
      kept.add(ended.copy(Duration.ofHours(i)));
      ended.copy(Duration.ofHours(25 + i));
    }
    startAndFind(ended, kept);
  }
}
