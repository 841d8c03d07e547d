package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Offsets;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many clients pause, resume, kill and stop one box at once. */
@Tag("kernel")
@LeakChecked
@Timeout(1800)
final class DaemonBurstAcceptanceTest {
  private static final long SEED = 20261116;
  private static final int THREADS = 16;
  private static final int OPERATIONS = 4;
  private static final int ROUNDS = 25;
  private static final int MANY_ROUNDS = 1000;

  private static final ExecRequest SHOW_NETWORK = ExecRequest.of("cat", "/proc/net/dev");

  /** The answer to a call that comes too late. */
  private static final Set<String> REFUSALS = Set.of("wrong-state", "not-found", "conflict");

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** Whatever proof of its end anybody was given, by the id of the box. */
  private final Map<String, Queue<Certificate>> proofs = new ConcurrentHashMap<>();

  private final Queue<String> gone = new ConcurrentLinkedQueue<>();

  @Test
  void oneBoxHasOneEnd() throws Exception {
    burst(ROUNDS);
  }

  @Test
  @Tag("long")
  void oneBoxHasOneEndInManyRounds() throws Exception {
    burst(MANY_ROUNDS);
  }

  private void burst(int rounds) throws Exception {
    EbbClient client = daemon.client();
    BoxEvents events = client.events();
    Thread listener = Thread.ofVirtual().name("listener").start(() -> listen(events));
    var random = new Random(SEED);
    var ids = new ArrayList<String>();
    for (int round = 0; round < rounds; round++) {
      ids.add(round(client, random.nextLong()));
    }
    await().atMost(DaemonProcess.PATIENCE).until(() -> gone.contains(ids.getLast()));
    events.close();
    listener.join();
    assertThat(gone).as("each is gone once").containsExactlyInAnyOrderElementsOf(ids);
  }

  private void listen(BoxEvents events) {
    try {
      while (true) {
        BoxEvent event = events.next();
        assertThat(event.kind()).isNotEqualTo("gap");
        if (event.kind().equals("box") && "gone".equals(event.state())) {
          gone.add(String.valueOf(event.box()));
        }
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private String round(EbbClient client, long seed) throws Exception {
    Box box = client.boxes().create(BoxRequest.defaults().withName("one").withDetached());
    client.execs("one").start(ExecRequest.of("sleep", "1000"));
    HostBox seen = HostBox.look(client, "one");
    seen.assertIsThere();
    if (Feature.CGROUPS.isPresent()) {
      client.boxes().pause("one");
      assertThat(client.boxes().resume("one").state()).isEqualTo(BoxState.RUNNING);
    }
    Exec shown = client.execs("one").start(SHOW_NETWORK);
    // A command that is still frozen would not end; the test does not wait for it.
    Exec ended = client.execs("one").await(shown.number(), DaemonProcess.PATIENCE);
    assertThat(ended.exitCode()).as("%s", ended).isZero();
    operate(client, seed);
    assertEnded(client, box.id());
    seen.assertIsGone();
    assertThat(client.boxes().remove("one", false).clean()).isTrue();
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    return box.id();
  }

  /** All begin at once. */
  private void operate(EbbClient client, long seed) throws Exception {
    var go = new CountDownLatch(1);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var all = new ArrayList<Future<?>>();
      for (int i = 0; i < THREADS; i++) {
        var random = new Random(seed + i);
        all.add(
            threads.submit(
                () -> {
                  go.await();
                  for (int n = 0; n < OPERATIONS; n++) {
                    attempt(client, random);
                  }
                  return null;
                }));
      }
      go.countDown();
      for (Future<?> each : all) {
        each.get();
      }
    }
  }

  private void attempt(EbbClient client, Random random) throws IOException {
    try {
      operate(client, random);
    } catch (EbbException e) {
      assertThat(e.code()).as("%s", e.getMessage()).isIn(REFUSALS);
    }
  }

  private void operate(EbbClient client, Random random) throws IOException {
    boolean canPause = Feature.CGROUPS.isPresent();
    switch (random.nextInt(16)) {
      case 0, 1, 2, 3 -> see(canPause ? client.boxes().pause("one") : inspect(client));
      case 4, 5, 6, 7 -> see(canPause ? client.boxes().resume("one") : inspect(client));
      case 8 -> client.execs("one").kill(1, Duration.ZERO);
      case 9 -> client.boxes().killAll("one", Duration.ZERO);
      case 10, 11 -> client.execs("one").start(SHOW_NETWORK);
      case 12 -> client.boxes().create(BoxRequest.defaults().withName("one"));
      case 13 -> see(client.boxes().stop("one", Duration.ofMillis(random.nextInt(20))));
      default -> see(inspect(client));
    }
  }

  private static Box inspect(EbbClient client) throws IOException {
    return client.boxes().inspect("one");
  }

  private void see(Box box) {
    Certificate proof = box.certificate();
    if (proof != null) {
      proofs.computeIfAbsent(box.id(), _ -> new ConcurrentLinkedQueue<>()).add(proof);
    }
  }

  /** There is one box by that name, it is gone, and all callers received one certificate. */
  private void assertEnded(EbbClient client, String id) throws IOException {
    see(client.boxes().stop("one", Duration.ZERO));
    List<Box> all = client.boxes().list(BoxQuery.all());
    assertThat(all).extracting(Box::id).containsExactly(id);
    assertThat(all.getFirst().state()).isEqualTo(BoxState.GONE);
    assertThat(all.getFirst().endedBy()).isEqualTo("request");
    assertThat(proofs).containsOnlyKeys(id);
    assertThat(proofs.remove(id)).hasSizeGreaterThanOrEqualTo(1).containsOnly(proofOf(all));
    for (Exec exec : client.execs("one").list()) {
      Exec ended = client.execs("one").await(exec.number());
      assertThat(ended.hasEnded()).isTrue();
      if (isShown(ended)) {
        assertHasNoNetwork(client, exec.number());
      }
    }
  }

  private static boolean isShown(Exec ended) {
    return ended.command().equals(SHOW_NETWORK.command()) && Objects.equals(ended.exitCode(), 0);
  }

  private static Certificate proofOf(List<Box> boxes) {
    return Objects.requireNonNull(boxes.getFirst().certificate());
  }

  private static void assertHasNoNetwork(EbbClient client, long exec) throws IOException {
    var shown = Followed.all(client.execs("one").follow(exec, Offsets.START));
    // Two lines of headings, and one for each interface.
    assertThat(new String(shown.stdout(), UTF_8).lines().skip(2))
        .singleElement()
        .asString()
        .startsWith("    lo:");
  }
}
