package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Fate;
import dev.ebb.model.FirstFile;
import dev.ebb.model.Limits;
import dev.ebb.model.Network;
import dev.ebb.model.PlannedStart;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Boxes that were made ahead: one use each, as new, and with the limits that were ordered. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class WarmPoolKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));
  private static final Duration AGE = Duration.ofMinutes(10);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final Map<String, Fate> poisoned = new ConcurrentHashMap<>();
  private final List<Box> made = new CopyOnWriteArrayList<>();
  private Engine engine;
  private WarmPool pool;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
    pool = engine.openPool(PoolPolicy.OFF, (_, _) -> {});
  }

  @AfterEach
  void close() {
    pool.close();
    engine.close();
  }

  /** The boxes that the engine makes, known here before a caller has them. */
  private final class Recorded implements WarmPool.Maker {
    @Override
    public Box make(BoxSpec spec, Optional<Interpreter> interpreter) {
      Box box = engine.create(spec);
      made.add(box);
      return box;
    }

    @Override
    public void discard(Box box) {
      assertThat(engine.release(box).isClean()).isTrue();
    }

    @Override
    public boolean isBusy() {
      return false;
    }
  }

  private static String id(Box box) {
    return box.id().value();
  }

  private void fill(PoolPolicy policy) {
    pool = new WarmPool(new Recorded(), policy, (box, fate) -> poisoned.put(id(box), fate));
    awaitSize(policy.min());
  }

  private void fill(int min, int max) {
    fill(new PoolPolicy(min, max, AGE, Map.of(), List.of()));
  }

  private void awaitSize(int size) {
    await(() -> pool.state().kinds().getFirst().size() >= size);
  }

  private static void await(Callable<Boolean> condition) {
    Awaitility.await()
        .pollInSameThread()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(2))
        .atMost(PATIENCE)
        .until(condition);
  }

  private Optional<Box> take(BoxSpec spec) throws InterruptedException {
    return pool.take(spec, PlannedStart.UNKNOWN).map(PoolItem::box);
  }

  private Box takeOne() throws InterruptedException {
    return take(BoxSpec.defaults()).orElseThrow();
  }

  private String output(Box box, String... command) throws InterruptedException {
    Exec exec = engine.start(box, ExecSpec.of(command));
    assertThat(exec.await().cause()).isEqualTo(new ExitCause.Exited(0));
    return Outputs.text(exec.stdout());
  }

  private long destroyed(Fate fate) {
    return pool.state().destroyed().getOrDefault(fate, 0L);
  }

  @Test
  void oneIsHandedOutAndAnotherIsMadeInItsPlace() throws Exception {
    fill(1, 2);
    Box first = takeOne();
    assertThat(first.state()).isEqualTo(BoxState.RUNNING);
    assertThat(output(first, "/bin/echo", "fine")).isEqualTo("fine\n");
    assertThat(engine.release(first).isClean()).isTrue();
    awaitSize(1);
    Box second = takeOne();
    assertThat(second.id()).isNotEqualTo(first.id());
    assertThat(pool.state().kinds().getFirst().hits()).isEqualTo(2);
    assertThat(poisoned).isEmpty();
  }

  @Test
  void oneComesWithItsFile() throws Exception {
    fill(1, 1);
    var file = new FirstFile("main.py", 0640, "print(1 + 1)".getBytes(StandardCharsets.UTF_8));
    PoolItem item = pool.take(BoxSpec.defaults(), with(file)).orElseThrow();
    assertThat(item.written()).contains(new BoxFiles(item.box()).stat("main.py"));
    assertThat(output(item.box(), "/usr/bin/python3", "main.py")).isEqualTo("2\n");
  }

  @Test
  void whatCannotBePlacedIsNoFlaw() throws Exception {
    fill(1, 1);
    var file = new FirstFile("ü".repeat(255), 0644, new byte[1]);
    PoolItem item = pool.take(BoxSpec.defaults(), with(file)).orElseThrow();
    assertThat(item.written()).isEmpty();
    assertThat(new BoxFiles(item.box()).workspace()).isEmpty();
    assertThat(poisoned).isEmpty();
  }

  @Test
  void onePoisonedByAFileOfThatNameIsNotHandedOut() throws Exception {
    fill(1, 1);
    Box planted = made.getFirst();
    output(planted, "/usr/bin/touch", "main.py");
    var file = new FirstFile("main.py", 0644, new byte[1]);
    assertThat(pool.take(BoxSpec.defaults(), with(file)).map(item -> item.box().id()))
        .isNotEqualTo(Optional.of(planted.id()));
    assertThat(poisoned).containsEntry(id(planted), Fate.FILES);
  }

  private static PlannedStart with(FirstFile file) {
    return new PlannedStart(Optional.empty(), Optional.of(file));
  }

  @Test
  void noBoxIsEverHandedOutTwice() throws Exception {
    fill(2, 6);
    Set<String> ids = ConcurrentHashMap.newKeySet();
    Set<String> nonces = ConcurrentHashMap.newKeySet();
    var tasks = new ArrayList<Future<?>>();
    try (var threads = Executors.newFixedThreadPool(16)) {
      for (int i = 0; i < 320; i++) {
        tasks.add(
            threads.submit(
                () -> {
                  Box box = take(BoxSpec.defaults()).orElseGet(() -> cold());
                  assertThat(ids.add(id(box))).as("id").isTrue();
                  assertThat(nonces.add(HexFormat.of().formatHex(box.execSite().sandbox().nonce())))
                      .as("nonce")
                      .isTrue();
                  assertThat(engine.release(box).isClean()).isTrue();
                  return box;
                }));
      }
      for (Future<?> task : tasks) {
        task.get();
      }
    }
    assertThat(ids).hasSize(320);
    var kind = pool.state().kinds().getFirst();
    assertThat(kind.hits() + kind.misses()).isEqualTo(320);
    assertThat(kind.hits()).as("hits").isPositive();
    assertThat(poisoned).isEmpty();
  }

  private Box cold() {
    return engine.create(BoxSpec.defaults());
  }

  // --- poison ---

  private Box only() throws InterruptedException {
    fill(1, 1);
    Box planted = made.getLast();
    assertThat(planted.state()).isEqualTo(BoxState.RUNNING);
    return planted;
  }

  /** The next caller gets another box, or none. */
  private void requireRefused(Box planted, Fate fate) throws Exception {
    assertThat(take(BoxSpec.defaults()).map(Box::id)).isNotEqualTo(Optional.of(planted.id()));
    await(() -> poisoned.containsKey(id(planted)));
    assertThat(poisoned).containsEntry(id(planted), fate);
    assertThat(destroyed(fate)).isEqualTo(1);
    await(() -> planted.state() == BoxState.GONE);
  }

  @Test
  void aBoxWithAKilledInitIsNotHandedOut() throws Exception {
    Box planted = only();
    planted.execSite().sandbox().init().orElseThrow().signal(Signal.KILL);
    // A dying box is silent first.
    await(() -> planted.state() != BoxState.RUNNING);
    requireRefused(planted, Fate.DEAD);
  }

  @Test
  void aBoxWithASilentInitIsNotHandedOut() throws Exception {
    Box planted = only();
    planted.execSite().sandbox().init().orElseThrow().signal(Signal.STOP);
    requireRefused(planted, Fate.SILENT);
  }

  @Test
  void oneInWhichACommandRunsIsNotHandedOut() throws Exception {
    Box planted = only();
    Exec exec = engine.start(planted, ExecSpec.of("/bin/sleep", "1000"));
    assertThat(exec.awaitStart(PATIENCE)).isTrue();
    requireRefused(planted, Fate.PROCESSES);
  }

  /** Its namespace does not show it. */
  @Test
  void oneWithAStrangerInItsCgroupIsNotHandedOut() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box planted = only();
    try (var children = new Children()) {
      int stranger = children.sleeper();
      Path work = planted.footprint().cgroups().getFirst().resolve("work");
      Files.createDirectory(work.resolve("7"));
      Files.writeString(work.resolve("7/cgroup.procs"), Integer.toString(stranger));
      requireRefused(planted, Fate.PROCESSES);
    }
  }

  @Test
  void oneWithAFileAnywhereIsNotHandedOut() throws Exception {
    for (String place : List.of("/workspace", "/tmp", "/tmp/home", "/dev/shm")) {
      Box planted = only();
      output(planted, "/bin/touch", place + "/x");
      requireRefused(planted, Fate.FILES);
      pool.close();
      poisoned.clear();
    }
  }

  @Test
  void aBoxThatIsTooOldIsNotHandedOut() throws Exception {
    fill(new PoolPolicy(1, 1, Duration.ofMillis(300), Map.of(), List.of()));
    await(() -> destroyed(Fate.AGED) >= 2);
    assertThat(poisoned).as("age is no poison").isEmpty();
  }

  // --- specialising ---

  private Box specialised(Limits limits) throws Exception {
    fill(1, 1);
    Box box = take(BoxSpec.defaults().withLimits(limits)).orElseThrow();
    assertThat(box.spec().limits()).isEqualTo(limits);
    return box;
  }

  @Test
  void itsMemoryIsThatOfTheOrder() throws Exception {
    Box box = specialised(Limits.defaults().withMemory(ByteSize.mebibytes(40)));
    // Without cgroups memory is read now and then: a process must stay to be seen.
    String eater = "import time; x = b'x' * (80 << 20); time.sleep(20)";
    Exec exec = engine.start(box, ExecSpec.of("/usr/bin/python3", "-c", eater));
    assertThat(exec.await().cause()).isInstanceOf(ExitCause.OutOfMemory.class);
  }

  @Test
  void moreMemoryThanOthersHaveCanBeHad() throws Exception {
    Box box = specialised(Limits.defaults().withMemory(ByteSize.mebibytes(700)));
    String size = "600m";
    Exec exec =
        engine.start(
            box,
            ExecSpec.of("/usr/bin/python3", "-c", "x = b'x' * (600 << 20); print(len(x) >> 20)"));
    assertThat(exec.await().cause()).as(size).isEqualTo(new ExitCause.Exited(0));
  }

  @Test
  void itsProcessesAreThoseOfTheOrder() throws Exception {
    Box box = specialised(Limits.defaults().withPids(5));
    String crowd =
        """
        import os, time
        n = 1
        try:
            while n < 50:
                if os.fork() == 0:
                    time.sleep(100)
                n += 1
        except BlockingIOError:
            pass
        print(n)
        """;
    assertThat(output(box, "/usr/bin/python3", "-c", crowd)).isEqualTo("5\n");
  }

  @Test
  void itsProcessorsAreThoseOfTheOrder() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box box = specialised(Limits.defaults().withCpus(0.1));
    String burn =
        """
        import time
        before, end = time.process_time(), time.monotonic() + 1
        while time.monotonic() < end: pass
        print(time.process_time() - before)
        """; // of one second, without what the interpreter's own start took
    assertThat(Double.parseDouble(output(box, "/usr/bin/python3", "-c", burn).strip()))
        .isLessThan(isSlow() ? 0.8 : 0.35); // on an emulator, ticks measure the time
  }

  private static boolean isSlow() {
    return TestHost.patience(Duration.ofSeconds(1)).toSeconds() > 1;
  }

  @Test
  void whatItCannotBecomeTakesAnotherWay() throws Exception {
    fill(1, 1);
    var limits = Limits.defaults();
    assertThat(take(BoxSpec.defaults().withNetwork(Network.HOST))).isEmpty();
    assertThat(take(BoxSpec.defaults().withLimits(limits.withDisk(ByteSize.mebibytes(1)))))
        .isEmpty();
    assertThat(take(BoxSpec.defaults().withLimits(limits.withTemporary(ByteSize.mebibytes(1)))))
        .isEmpty();
    assertThat(pool.state().unfit()).isEqualTo(3);
    assertThat(pool.state().kinds().getFirst().size()).isEqualTo(1);
  }

  // --- size ---

  @Test
  void aBurstFindsNoneRatherThanAnError() throws Exception {
    fill(1, 4);
    var tasks = new ArrayList<Future<Box>>();
    try (var threads = Executors.newFixedThreadPool(50)) {
      for (int i = 0; i < 200; i++) {
        tasks.add(
            threads.submit(
                () -> {
                  Box box = take(BoxSpec.defaults()).orElseGet(() -> cold());
                  assertThat(engine.release(box).isClean()).isTrue();
                  return box;
                }));
      }
      for (Future<Box> task : tasks) {
        task.get();
      }
    }
    assertThat(pool.state().kinds().getFirst().misses()).isPositive();
  }

  @Test
  void itGrowsWithDemandAndShrinksWithoutIt() throws Exception {
    fill(1, 4);
    await(
        () -> {
          take(BoxSpec.defaults()).ifPresent(engine::release);
          return pool.state().kinds().getFirst().target() > 1;
        });
    await(() -> pool.state().kinds().getFirst().target() == 1);
    await(() -> pool.state().kinds().getFirst().size() == 1);
  }

  @Test
  void underPressureItIsEmptiedAndStaysSo() throws Exception {
    fill(3, 4);
    assertThat(pool.shrink(1)).isEqualTo(2);
    assertThat(pool.state().kinds().getFirst().size()).isEqualTo(1);
    assertThat(pool.shrink(0)).isEqualTo(1);
    assertThat(take(BoxSpec.defaults())).isEmpty();
    assertThat(destroyed(Fate.SURPLUS)).isEqualTo(3);
    pool.shrink(Integer.MAX_VALUE);
    awaitSize(3);
    assertThat(pool.makeWay()).isEqualTo(3);
    assertThat(take(BoxSpec.defaults())).as("none for a while").isEmpty();
  }

  @Test
  void whatIsBeingMadeWhenWayIsMadeIsNotKept() throws Exception {
    var begun = new CountDownLatch(1);
    var wayWasMade = new CountDownLatch(1);
    var discarded = new CountDownLatch(1);
    var maker =
        new WarmPool.Maker() {
          private final Recorded recorded = new Recorded();

          @Override
          public Box make(BoxSpec spec, Optional<Interpreter> interpreter) {
            begun.countDown();
            awaitUninterruptibly(wayWasMade);
            return recorded.make(spec, interpreter);
          }

          @Override
          public void discard(Box box) {
            recorded.discard(box);
            discarded.countDown();
          }

          @Override
          public boolean isBusy() {
            return false;
          }
        };
    pool = new WarmPool(maker, new PoolPolicy(1, 1, AGE, Map.of(), List.of()), (_, _) -> {});
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(pool.makeWay()).isZero();
    wayWasMade.countDown();
    assertThat(discarded.await(30, TimeUnit.SECONDS)).as("made, and given up").isTrue();
    assertThat(take(BoxSpec.defaults())).isEmpty();
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void closedItHoldsNothingAndHandsOutNothing() throws Exception {
    pool = engine.openPool(new PoolPolicy(2, 4, AGE, Map.of(), List.of()), (_, _) -> {});
    awaitSize(2);
    pool.close();
    assertThat(take(BoxSpec.defaults())).isEmpty();
    assertThat(engine.holdings())
        .filteredOn(holding -> !holding.box().equals(ForkserverBackend.NAME))
        .allMatch(holding -> holding.box().isEmpty());
    pool.close();
  }
}
