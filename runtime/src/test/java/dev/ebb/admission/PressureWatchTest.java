package dev.ebb.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.kernel.Reserve;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.FakeCgroupFs;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** On directories that look like what a host with 100 PIDs has. */
@Timeout(60)
class PressureWatchTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(20));

  @TempDir Path root;

  private final Scope scope = new Scope();
  private final Queue<String> told = new ConcurrentLinkedQueue<>();
  private final Queue<String> cleaned = new ConcurrentLinkedQueue<>();
  private PressureWatch watch;
  private Path cgroup;

  @BeforeEach
  void open() throws Exception {
    write("proc/sys/kernel/pid_max", "4194304");
    write("proc/sys/fs/file-nr", "592\t0\t2465610");
    write(
        "proc/self/limits",
        "Max processes   9999  9999  processes\nMax open files  9999  9999  files");
    write("proc/self/cgroup", "0::/ebb");
    write("proc/self/status", "Threads:\t19");
    write("proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw");
    write("proc/loadavg", "2.47 2.68 1.88 4/101 21872");
    write("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1000000 kB");
    Files.createDirectories(root.resolve("proc/self/fd"));
    var cgroups = FakeCgroupFs.v2(root.resolve("sys/fs/cgroup"));
    cgroup = cgroups.create("ebb");
    cgroups.write(cgroup, "pids.max", "100\n");
    use(10);
    watch =
        new PressureWatch(
            new Gauges(root, root, Thresholds.DEFAULT, InstantSource.system()),
            Reserve.open(scope, 4),
            new PressureSettings(
                Thresholds.DEFAULT, 4, Duration.ofMillis(200), Duration.ofSeconds(10)));
    scope.own(watch::close);
  }

  @AfterEach
  void close() throws Exception {
    scope.close();
  }

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text + "\n");
  }

  private void writeUnchecked(String file, String text) {
    try {
      write(file, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Atomically: the watch reads meanwhile. */
  private void use(int pids) {
    try {
      Path next = cgroup.resolve("next");
      Files.writeString(next, pids + "\n");
      Files.move(next, cgroup.resolve("pids.current"), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void start() {
    start((kind, data) -> told.add(kind + " " + data.get("resource") + " " + data.get("level")));
  }

  private void start(PressureWatch.Publisher publisher) {
    watch.start(
        publisher,
        new BaselineWatch(InstantSource.system(), Duration.ofDays(1), () -> true, () -> 0));
  }

  /** A stage after which so many are used. */
  private void stage(Cleanup.Stage stage, int usedThen) {
    watch.register(
        stage,
        enough -> {
          cleaned.add(stage.wireName());
          use(usedThen);
          return 1;
        });
  }

  private void awaitReported(String... all) {
    await().atMost(PATIENCE).until(() -> List.copyOf(told).containsAll(List.of(all)));
  }

  @Test
  void aLevelIsReportedOnceAndEachOnTheWayUp() {
    start();
    use(65);
    awaitReported("pressure pids warn");
    use(70);
    use(85);
    awaitReported("pressure pids alert");
    use(5);
    awaitReported("pressure pids ok");
    assertThat(told)
        .filteredOn(word -> word.startsWith("pressure pids"))
        .containsSubsequence(
            "pressure pids warn",
            "pressure pids alert",
            "pressure pids cleanup",
            "pressure pids ok")
        .containsOnlyOnce("pressure pids warn", "pressure pids alert");
  }

  @Test
  void cleanupsWithoutCostForCallersRunFirstAndNoMoreThanNeeded() {
    // Registered in another order.
    stage(Cleanup.Stage.HISTORY, 5);
    stage(Cleanup.Stage.IDLE_BOXES, 70);
    stage(Cleanup.Stage.WARM_BOXES, 85);
    stage(Cleanup.Stage.SWEEP, 88);
    start();
    use(90);
    awaitReported("pressure pids cleanup");
    assertThat(cleaned).containsExactly("sweep", "warm-boxes", "idle-boxes");
    Cleaned last = watch.lastCleanup().orElseThrow();
    assertThat(last.before().use()).isEqualTo(90);
    assertThat(last.after().use()).isEqualTo(70);
    assertThat(last.stages()).extracting(Cleaned.Step::use).containsExactly(88L, 85L, 70L);
    await().atMost(PATIENCE).until(() -> told.size() > 3);
    assertThat(told)
        .containsExactly(
            "pressure pids warn",
            "pressure pids alert",
            "pressure pids cleanup",
            "pressure pids warn");
  }

  @Test
  void aCleanupIsReportedForTheResourceThatCalledForIt() {
    stage(Cleanup.Stage.SWEEP, 5);
    start(
        (kind, data) -> {
          String event = kind + " " + data.get("resource") + " " + data.get("level");
          told.add(event);
          if (event.equals("pressure pids alert")) {
            // From now on memory is the worst.
            use(5);
            writeUnchecked("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 300000 kB");
            await().atMost(PATIENCE).until(() -> isWorst(Resource.MEMORY));
          }
        });
    use(90);
    await().atMost(PATIENCE).until(() -> watch.lastCleanup().isPresent());
    awaitReported("pressure pids cleanup");
    assertThat(told).doesNotContain("pressure memory cleanup");
    assertThat(watch.lastCleanup().orElseThrow().before().use()).isEqualTo(90);
  }

  private boolean isWorst(Resource resource) {
    return watch.fresh().worst().resource() == resource;
  }

  @Test
  void aFailedStageDoesNotStopTheNext() {
    watch.register(
        Cleanup.Stage.SWEEP,
        enough -> {
          throw new IllegalStateException("to be logged, in a test");
        });
    stage(Cleanup.Stage.IDLE_BOXES, 10);
    start();
    use(97);
    awaitReported("pressure pids ok");
    assertThat(cleaned).containsExactly("idle-boxes");
  }

  @Test
  void aRefusalSaysWhatIsShort() {
    use(99);
    var refusal =
        catchThrowableOfType(
            SandboxException.class, () -> watch.admit("a", new Cost(1, 1), () -> false).close());
    assertThat(refusal).isNull();
    start();
    await().atMost(PATIENCE).until(() -> watch.latest().level() == PressureLevel.FULL);
    refusal =
        catchThrowableOfType(
            SandboxException.class, () -> watch.admit("a", new Cost(1, 1), () -> false).close());
    assertThat(refusal.code()).isEqualTo(ErrorCode.PRESSURE);
    assertThat(refusal.facts())
        .containsEntry("resource", "pids")
        .containsEntry("use", 99L)
        .containsEntry("limit", 100L)
        .containsEntry("source", cgroup.resolve("pids.max").toString())
        .containsEntry("reason", "full");
  }

  @Test
  void aFailureWhileAResourceIsShortIsReportedAsPressure() {
    var failure = new SandboxException(ErrorCode.SETUP_FAILED, "cannot make a box");
    Instant begun = Instant.now();
    assertThat(watch.explain(failure, begun)).isSameAs(failure);
    use(90);
    await()
        .atMost(PATIENCE)
        .until(() -> watch.explain(failure, begun).code() == ErrorCode.PRESSURE);
    var other = new SandboxException(ErrorCode.BAD_REQUEST, "no");
    assertThat(watch.explain(other, begun)).isSameAs(other);
  }

  /** A listener of a publisher may wait for a thread that reads or requests admission. */
  @Test
  void nothingIsPublishedUnderTheLockOfTheReadings() throws Exception {
    var isPublishing = new CountDownLatch(1);
    var gate = new CompletableFuture<Boolean>();
    start(
        (kind, data) -> {
          isPublishing.countDown();
          gate.join();
        });
    use(65);
    try {
      assertThat(isPublishing.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
      var reading = new FutureTask<>(watch::fresh);
      Thread.ofVirtual().start(reading);
      assertThat(reading.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isNotNull();
    } finally {
      gate.complete(true);
    }
  }
}
