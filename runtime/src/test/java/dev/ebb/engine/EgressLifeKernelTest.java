package dev.ebb.engine;

import static dev.ebb.engine.Internet.SOON;
import static dev.ebb.engine.Internet.allowing;
import static dev.ebb.engine.Internet.attempt;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Network;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The way out of a box while it lives: changed, paused, crowded, abused, and gone with it. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class EgressLifeKernelTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  @RegisterExtension final Internet internet = new Internet();

  private Box box(String... rules) throws IOException {
    return internet.engine().create(allowing(rules));
  }

  private void change(Box box, String... rules) throws InterruptedException {
    box.changeNetwork(Network.allow(List.of(rules)));
  }

  /** A connection that stays, and a word over it each time it is asked. */
  private final class Held implements AutoCloseable {
    private final Exec exec;
    private int lines;

    Held(Box box, String place) throws Exception {
      exec = internet.engine().start(box, attempt("hold", place).withInput());
      assertThat(next()).isEqualTo("up");
    }

    String say(String word) throws Exception {
      byte[] line = (word + "\n").getBytes(UTF_8);
      assertThat(exec.stdin().orElseThrow().write(line, 0, line.length)).isTrue();
      return next();
    }

    private String next() {
      await()
          .atMost(SOON)
          .pollInSameThread()
          .until(() -> CapturedOutput.of(exec.stdout()).text().lines().count() > lines);
      return CapturedOutput.of(exec.stdout()).text().lines().toList().get(lines++);
    }

    @Override
    public void close() {
      exec.close();
    }
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("ebb-egress") || name.startsWith("ebb-resolver"))
        .toList();
  }

  // --- changed ---

  @Test
  void aChangeHoldsAtOnceForConnectionsThatThereAre() throws Exception {
    internet.put("other.test", "127.0.0.1");
    String other = "other.test:" + internet.origin().port();
    Box box = box(internet.place(), other);
    try (var cut = new Held(box, internet.place());
        var kept = new Held(box, other)) {
      assertThat(cut.say("one")).isEqualTo("one");
      change(box, other);
      assertThat(established()).as("when it returns").isEqualTo(1);
      assertThat(cut.say("two")).isIn("ECONNRESET", "EPIPE");
      assertThat(kept.say("two")).isEqualTo("two");
      assertThat(box.spec().network().policy().rules()).containsExactly(other);
    }
    assertThat(internet.in(box, "echo", internet.place())).startsWith("HTTP/1.1 403 ");
    box.changeNetwork(Network.NONE);
    assertThat(internet.in(box, "echo", other)).startsWith("HTTP/1.1 403 ");
    change(box, internet.place());
    assertThat(internet.in(box, "echo", internet.place())).isEqualTo("ECHO origin 1000");
  }

  /** How many connections to the server there are, as the kernel knows: it may learn that later. */
  private long established() throws IOException {
    String place = ":%04X 01 ".formatted(internet.origin().port());
    return Files.readAllLines(Path.of("/proc/self/net/tcp")).stream()
        .filter(line -> line.contains(place))
        .count();
  }

  @Test
  void aBoxWithoutIsGivenAWayOut() throws Exception {
    Box box = internet.engine().create(BoxSpec.defaults());
    assertThat(threads()).isEmpty();
    change(box, internet.place());
    assertThat(internet.in(box, "echo", internet.place())).isEqualTo("ECHO origin 1000");
    assertThat(threads()).contains("ebb-egress");
  }

  @Test
  void aPortThatACommandHasTakenIsAConflictAndNoHarm() throws Exception {
    Box box = internet.engine().create(BoxSpec.defaults());
    String take =
        "import socket, sys; s = socket.create_server(('127.0.0.1', 3128)); print(1, flush=True); sys.stdin.read()";
    try (Exec exec =
        internet.engine().start(box, ExecSpec.of("/usr/bin/python3", "-c", take).withInput())) {
      assertThat(exec.awaitOutput(0, 0, SOON)).isTrue();
      assertThatThrownBy(() -> change(box, internet.place()))
          .isInstanceOfSatisfying(
              SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT))
          .hasMessageContaining("3128");
      exec.stdin().orElseThrow().close();
      exec.await();
    }
    change(box, internet.place());
    assertThat(internet.in(box, "echo", internet.place())).isEqualTo("ECHO origin 1000");
  }

  @Test
  void theNetworkOfTheHostIsForGood() throws Exception {
    Box box = internet.engine().create(BoxSpec.defaults().withNetwork(Network.HOST));
    assertThatThrownBy(() -> change(box, "a.org")).hasMessageContaining("from its beginning");
    Box other = box("a.org");
    assertThatThrownBy(() -> other.changeNetwork(Network.HOST)).hasMessageContaining("or never");
  }

  @Test
  void aPauseChangesNothing() throws Exception {
    TestHost.require(Feature.CGROUPS);
    internet.configure(Internet.SETTINGS.withPatience(LONG, LONG, Duration.ofSeconds(4)));
    Box box = box(internet.place());
    try (var held = new Held(box, internet.place())) {
      assertThat(held.say("one")).isEqualTo("one");
      box.pause();
      // Longer than a connection may be idle, which begins anew with the end of the pause.
      await().pollDelay(Duration.ofSeconds(6)).until(() -> true);
      assertThat(internet.origin().living()).isEqualTo(1);
      box.resume();
      await().pollDelay(Duration.ofSeconds(1)).until(() -> true);
      assertThat(held.say("two")).isEqualTo("two");
    }
  }

  @Test
  void aPooledBoxGetsTheEgressOfItsOrder() throws Exception {
    var policy = new PoolPolicy(1, 1, PoolPolicy.DEFAULT_AGE, Map.of(), List.of());
    try (var pool = internet.engine().openPool(policy, (_, _) -> {})) {
      await().atMost(SOON).until(() -> pool.state().kinds().getFirst().size() > 0);
      Box box = pool.take(allowing(internet.place()), PlannedStart.UNKNOWN).orElseThrow().box();
      assertThat(internet.in(box, "echo", internet.place())).isEqualTo("ECHO origin 1000");
      assertThat(internet.in(box, "variables")).contains("HTTPS_PROXY=http://127.0.0.1:3128");
      assertThat(internet.engine().release(box).isClean()).isTrue();
    }
  }

  // --- ended ---

  @Test
  void theEndOfABoxIsTheEndOfItsConnections() throws Exception {
    Box box = box(internet.place());
    Box other = box(internet.place());
    try (var held = new Held(box, internet.place());
        var kept = new Held(other, internet.place())) {
      assertThat(held.say("one")).isEqualTo("one");
      assertThat(internet.engine().release(box).isClean()).isTrue();
      await().atMost(SOON).until(() -> internet.origin().living() == 1);
      assertThat(kept.say("two")).isEqualTo("two");
      assertThat(internet.engine().egress().connections()).isEqualTo(1);
    }
    assertThat(internet.engine().release(other).isClean()).isTrue();
    await().atMost(SOON).until(() -> threads().isEmpty());
    assertThat(internet.engine().egress().connections()).isZero();
  }

  // --- crowded ---

  @Test
  void aThousandConnectionsAreServedWithinTheBounds() throws Exception {
    internet.configure(Internet.SETTINGS.withConnections(48, 32));
    Box box = box(internet.place());
    assertThat(internet.in(box, "echo", internet.place())).isEqualTo("ECHO origin 1000");
    int before = descriptors();
    try (Exec exec =
        internet
            .engine()
            .start(box, attempt("many", internet.place(), "1000").withOpenFiles(2000))) {
      int most = 0;
      while (exec.awaitOutput(0, 0, Duration.ofMillis(20)) && exec.stdout().size() == 0) {
        most = Math.max(most, internet.engine().egress().connections());
      }
      assertThat(exec.await(SOON).orElseThrow().cause().code()).isZero();
      assertThat(CapturedOutput.of(exec.stdout()).text().strip()).isEqualTo("1000");
      assertThat(most).isBetween(8, 32);
    }
    await().atMost(SOON).until(() -> internet.engine().egress().connections() == 0);
    await().atMost(SOON).untilAsserted(() -> assertThat(descriptors()).isLessThanOrEqualTo(before));
  }

  @Test
  void anOwnerOfManyBoxesHasNoMoreConnectionsThanAreLeftForOthers() throws Exception {
    internet.configure(Internet.SETTINGS.withConnections(12, 12).withPatience(LONG, LONG, LONG));
    Box one = box(internet.place());
    Box two = box(internet.place());
    Box other = box(internet.place());
    internet.engine().egress().share(id -> id.equals(other.id().value()) ? "b" : "a");
    try (Exec first = internet.engine().start(one, attempt("slow", "20"));
        Exec second = internet.engine().start(two, attempt("slow", "20"))) {
      await().atMost(SOON).until(() -> internet.engine().egress().connections() >= 6);
      assertThat(internet.in(other, "echo", internet.place())).isEqualTo("ECHO origin 1000");
      assertThat(internet.engine().egress().connections()).isEqualTo(6);
      first.kill(Duration.ZERO);
      second.kill(Duration.ZERO);
      var _ = first.await();
      var _ = second.await();
    }
  }

  private static int descriptors() throws IOException {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return (int) files.count();
    }
  }

  // --- abused ---

  @Test
  void aSlowSenderIsRefusedAndDelaysNoOtherConnection() throws Exception {
    internet.configure(Internet.SETTINGS.withPatience(Duration.ofSeconds(5), LONG, LONG));
    Box slow = box(internet.place());
    Box quick = box(internet.place());
    try (Exec exec = internet.engine().start(slow, attempt("slow", "20"))) {
      await().atMost(SOON).until(() -> internet.engine().egress().connections() == 20);
      assertThat(internet.in(quick, "echo", internet.place())).isEqualTo("ECHO origin 1000");
      assertThat(exec.await(SOON).orElseThrow().cause().code()).isZero();
      assertThat(CapturedOutput.of(exec.stdout()).text())
          .startsWith("0 left, ['HTTP/1.1 408 Ebb: the request took too long to be sent'");
    }
  }

  @Test
  void aConnectionThatCarriesNothingIsCut() throws Exception {
    internet.configure(Internet.SETTINGS.withPatience(LONG, LONG, Duration.ofSeconds(1)));
    assertThat(internet.inBox(allowing(internet.place()), "await_cut", internet.place()))
        .endsWith("ECONNRESET");
  }

  /**
   * {@code stuck.test} is not found before {@code end}, {@code late.test} after more than a moment;
   * neither leads anywhere. What is asked for is added to {@code asked}.
   */
  private void resolveSlowly(CountDownLatch end, Queue<String> asked) throws IOException {
    internet
        .engine()
        .egress()
        .configure(
            Internet.SETTINGS
                .withPatience(LONG, Duration.ofSeconds(8), LONG)
                .withResolver(
                    name -> {
                      asked.add(name);
                      if (name.equals("stuck.test")) {
                        awaitQuietly(end, LONG);
                      } else if (name.equals("late.test")) {
                        awaitQuietly(end, Duration.ofMillis(2500));
                      }
                      return internet.resolve(name);
                    }));
  }

  /** A resolver cannot be stopped; a client that waits for it is refused after a while. */
  @Test
  void aNameThatIsNeverFoundKeepsOtherBoxesFromNothing() throws Exception {
    var stuck = new CountDownLatch(1);
    var asked = new ConcurrentLinkedQueue<String>();
    resolveSlowly(stuck, asked);
    Box one = box("*:*");
    try {
      Box other = box("*:*");
      try (Exec exec = internet.engine().start(one, attempt("statuses", "stuck.test"))) {
        assertThat(internet.in(other, "echo", internet.place())).isEqualTo("ECHO origin 1000");
        assertThat(exec.await(SOON).orElseThrow().cause().code()).isZero();
        assertThat(CapturedOutput.of(exec.stdout()).text().strip()).isEqualTo("stuck.test 504 504");
      }
    } finally {
      stuck.countDown();
    }
    assertThat(internet.in(one, "echo", internet.place())).isEqualTo("ECHO origin 1000");
    assertThat(asked)
        .as("a name that no connection waits for is not looked up")
        .containsExactlyInAnyOrder("stuck.test", "origin.test", "origin.test");
  }

  /** Each of them could hold a thread, and there are three. */
  @Test
  void boxesWithSlowNamesDelayOnlyEachOther() throws Exception {
    var end = new CountDownLatch(1);
    var asked = new ConcurrentLinkedQueue<String>();
    resolveSlowly(end, asked);
    var hostile = new ArrayList<Box>();
    var execs = new ArrayList<Exec>();
    try {
      for (int i = 0; i < 3; i++) {
        hostile.add(box("*:*"));
        // The threads for boxes with prompt names: one each, and no more than that.
        assertThat(internet.in(hostile.getLast(), "echo", "late.test:443"))
            .startsWith("HTTP/1.1 502 ");
      }
      for (Box each : hostile) {
        execs.add(internet.engine().start(each, attempt("echo", "stuck.test:443")));
      }
      await().atMost(SOON).until(() -> asked.contains("stuck.test"));
      Box honest = box("*:*");
      assertThat(internet.in(honest, "echo", internet.place())).isEqualTo("ECHO origin 1000");
      for (Exec each : execs) {
        assertThat(each.await(SOON).orElseThrow().cause().code()).isZero();
        assertThat(CapturedOutput.of(each.stdout()).text())
            .startsWith("HTTP/1.1 504 Ebb: stuck.test was not found in time");
      }
      assertThat(threads())
          .filteredOn(name -> name.startsWith("ebb-resolver"))
          .hasSizeBetween(1, 3);
    } finally {
      end.countDown();
      execs.forEach(Exec::close);
    }
    assertThat(internet.in(hostile.getFirst(), "echo", internet.place()))
        .as("when its turn comes")
        .isEqualTo("ECHO origin 1000");
    assertThat(asked).as("an answered name is not looked up").containsOnlyOnce("stuck.test");
  }

  @Test
  void namesOfBoxesThatAreGoneTakeNoMoreThreads() throws Exception {
    var end = new CountDownLatch(1);
    var asked = new ConcurrentLinkedQueue<String>();
    resolveSlowly(end, asked);
    Box stays;
    try {
      for (int i = 0; i < 4; i++) {
        askAndGo();
      }
      assertThat(threads()).hasSizeBetween(1, 3);
      stays = box("*:*");
      askAndGo();
    } finally {
      end.countDown();
    }
    assertThat(internet.in(stays, "echo", internet.place())).isEqualTo("ECHO origin 1000");
    assertThat(asked).filteredOn("stuck.test"::equals).as("by the boxes that were open").hasSize(2);
    assertThat(internet.engine().release(stays).isClean()).isTrue();
    await().atMost(SOON).until(() -> threads().isEmpty());
  }

  /** A box that does not live to see what its name leads to. */
  private void askAndGo() throws Exception {
    Box gone = box("*:*");
    try (Exec _ = internet.engine().start(gone, attempt("echo", "stuck.test:443"))) {
      await().atMost(SOON).until(() -> internet.engine().egress().connections() == 1);
      assertThat(internet.engine().release(gone).isClean()).isTrue();
    }
  }

  /** Heeds no interrupt, as the resolver of the host. */
  private static void awaitQuietly(CountDownLatch latch, Duration most) {
    long until = System.nanoTime() + most.toNanos();
    boolean isOver = false;
    while (!isOver) {
      try {
        long left = until - System.nanoTime();
        isOver = latch.await(left, TimeUnit.NANOSECONDS) || left <= 0;
      } catch (InterruptedException e) {
        // It goes on.
      }
    }
  }

  @Test
  void aClientThatDoesNotReadKeepsNoOtherFromReading() throws Exception {
    Box lazy = box(internet.place());
    Box quick = box(internet.place());
    String size = Integer.toString(256 << 20);
    String code =
        "import socket, sys; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(sys.argv[1].encode()); print(1, flush=True); sys.stdin.read()";
    String request =
        "GET http://%s/big?%s HTTP/1.1\r\nHost: %s\r\n\r\n"
            .formatted(internet.place(), size, internet.place());
    try (Exec exec =
        internet
            .engine()
            .start(lazy, ExecSpec.of("/usr/bin/python3", "-c", code, request).withInput())) {
      assertThat(exec.awaitOutput(0, 0, SOON)).isTrue();
      String small = Integer.toString(16 << 20);
      assertThat(internet.in(quick, "big", "http://" + internet.place() + "/big?" + small, small))
          .isEqualTo("same");
      // The capacity of the two sockets and one buffer, not all that the server sends.
      assertThat(internet.engine().egress().received()).isLessThan((16 << 20) + (32 << 20));
    }
  }
}
