package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Mount;
import dev.ebb.client.NotFoundException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.FrozenDisk;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The two ways to end a detached box, in whatever state it is; and the one beside it lives on. */
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class DaemonEndAcceptanceTest {
  private static final int MANY = 10;
  private static final int FEW_PIDS = 16;
  private static final Duration GRACE = Duration.ofMillis(100);
  private static final ExecRequest SLEEP = ExecRequest.of("sleep", "1000");

  /** As many processes as its limit allows; then the command reports that. */
  private static final ExecRequest FORK_ALL =
      ExecRequest.of(
          "python3",
          "-c",
          """
          import os, signal
          while True:
              try:
                  if os.fork() == 0:
                      signal.pause()
              except OSError:
                  os.write(1, b"full")
                  signal.pause()
          """);

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private EbbClient client;
  private HostBox bystander;

  private enum Way {
    REMOVE,
    STOP
  }

  /** What may have happened to a box while its daemon runs. */
  private enum Happened {
    NOTHING,
    KILLED,
    PAUSED,
    FULL;

    boolean isPossible() {
      return this != PAUSED || Feature.CGROUPS.isPresent();
    }
  }

  /** What may have happened to a box while no daemon ran. */
  private enum Meanwhile {
    NOTHING,
    KILLED,
    PAUSED_BEFORE,
    PID_ERASED,
    CGROUPS_REMOVED;

    boolean isPossible() {
      return this == NOTHING || this == KILLED || Feature.CGROUPS.isPresent();
    }
  }

  /** A box that is to end, and how. */
  private record Case<S>(S state, Way way, HostBox box) {}

  @BeforeEach
  void createBystander() throws IOException {
    client = daemon.client();
    bystander = create("bystander", BoxRequest.defaults(), SLEEP);
  }

  @AfterEach
  void theBystanderIsUntouched() throws IOException {
    assertThat(client.boxes().inspect("bystander").state()).isEqualTo(BoxState.RUNNING);
    bystander.assertIsThere();
    assertThat(client.boxes().remove("bystander", true).clean()).isTrue();
    bystander.assertIsGone();
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
  }

  /** Makes a box that runs a command. */
  private HostBox create(String name, BoxRequest request, ExecRequest command) throws IOException {
    client.boxes().create(request.withName(name).withDetached());
    client.execs(name).start(command);
    HostBox box = HostBox.look(client, name);
    box.assertIsThere();
    return box;
  }

  /** Ends it; the answer is the proof. */
  private void end(Way way, HostBox box) throws IOException {
    switch (way) {
      case REMOVE -> {
        assertThat(client.boxes().remove(box.name(), true).clean()).as(box.name()).isTrue();
        box.assertIsGone();
      }
      case STOP -> {
        Box stopped = client.boxes().stop(box.name(), GRACE);
        assertThat(stopped.state()).as(box.name()).isEqualTo(BoxState.GONE);
        assertThat(Objects.requireNonNull(stopped.certificate()).clean()).isTrue();
        box.assertIsGone();
        endAgain(box, stopped);
      }
    }
    assertThat(client.boxes().remove(box.name(), true).clean()).as("again").isTrue();
    assertThatThrownBy(() -> client.boxes().stop(box.name(), GRACE))
        .isInstanceOf(NotFoundException.class);
  }

  /** Stopping a stopped box succeeds, with the same answer. */
  private void endAgain(HostBox box, Box stopped) throws IOException {
    Box again = client.boxes().stop(box.name(), GRACE);
    assertThat(again.state()).isEqualTo(BoxState.GONE);
    assertThat(again.certificate()).isEqualTo(stopped.certificate());
    assertThat(client.boxes().remove(box.name(), false).clean()).isTrue();
  }

  // --- with its daemon ---

  @Test
  void itEndsWhateverHappened() throws Exception {
    endWhateverHappened();
  }

  @Test
  @Tag("long")
  void itEndsWhateverHappenedManyTimes() throws Exception {
    for (int i = 0; i < MANY; i++) {
      endWhateverHappened();
    }
  }

  private void endWhateverHappened() throws Exception {
    var cases = new ArrayList<Case<Happened>>();
    for (Happened state : Happened.values()) {
      for (Way way : Way.values()) {
        if (state.isPossible()) {
          cases.add(new Case<>(state, way, create(state, state + "-" + way)));
        }
      }
    }
    for (var each : cases) {
      each.box().assertIsThere();
      switch (each.state()) {
        case NOTHING, FULL -> {}
        case KILLED -> each.box().kill();
        case PAUSED ->
            assertThat(client.boxes().pause(each.box().name()).state()).isEqualTo(BoxState.PAUSED);
      }
      end(each.way(), each.box());
      bystander.assertIsThere();
    }
  }

  private HostBox create(Happened state, String name) throws IOException {
    if (state != Happened.FULL) {
      return create(name, BoxRequest.defaults(), SLEEP);
    }
    var limits = new Limits(null, FEW_PIDS, null, null);
    create(name, BoxRequest.defaults().withLimits(limits), FORK_ALL);
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs(name).inspect(1).stdoutBytes() > 0);
    HostBox full = HostBox.look(client, name);
    assertThat(full.pids()).hasSizeGreaterThan(FEW_PIDS / 2);
    return full;
  }

  /** The second caller receives that the box is gone, or that there is no such box. */
  @Test
  void twoCallersThatEndItAtOnceBothSucceed() throws Exception {
    for (int i = 0; i < 5; i++) {
      HostBox box = create("twice" + i, BoxRequest.defaults(), SLEEP);
      Callable<String> removal = () -> removed(box.name());
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        List<Future<String>> both = List.of(threads.submit(removal), threads.submit(removal));
        var outcomes = new ArrayList<String>();
        for (Future<String> each : both) {
          outcomes.add(each.get());
          box.assertIsGone();
        }
        assertThat(outcomes).contains("clean").isSubsetOf("clean", "not found");
      }
    }
  }

  private String removed(String name) throws IOException {
    try {
      Certificate certificate = client.boxes().remove(name, true);
      return certificate.clean() ? "clean" : certificate.toString();
    } catch (NotFoundException e) {
      return "not found";
    }
  }

  // --- after its daemon ---

  @Test
  void theNextDaemonEndsItWhateverHappenedMeanwhile() throws Exception {
    endWithTheNextDaemon();
  }

  @Test
  @Tag("long")
  void theNextDaemonEndsItWhateverHappenedManyTimes() throws Exception {
    for (int i = 0; i < MANY; i++) {
      endWithTheNextDaemon();
    }
  }

  private void endWithTheNextDaemon() throws Exception {
    var cases = new ArrayList<Case<Meanwhile>>();
    for (Meanwhile state : Meanwhile.values()) {
      for (Way way : Way.values()) {
        if (state.isPossible()) {
          HostBox box = create(state + "-" + way, BoxRequest.defaults(), SLEEP);
          cases.add(new Case<>(state, way, box));
        }
      }
    }
    for (var each : cases) {
      if (each.state() == Meanwhile.PAUSED_BEFORE) {
        client.boxes().pause(each.box().name());
      }
    }
    daemon.kill();
    for (var each : cases) {
      each.box().assertIsThere();
      happen(each.state(), each.box());
    }
    restart();
    for (var each : cases) {
      assertFound(each.state(), each.box());
      end(each.way(), each.box());
      bystander.assertIsThere();
    }
  }

  private void restart() throws IOException {
    daemon.start();
    client = daemon.client();
  }

  private void happen(Meanwhile what, HostBox box) throws IOException {
    switch (what) {
      case NOTHING, PAUSED_BEFORE -> {}
      case KILLED -> box.kill();
      case PID_ERASED -> erasePid(box);
      case CGROUPS_REMOVED -> {
        box.kill();
        for (Path cgroup : box.cgroups()) {
          remove(cgroup);
        }
      }
    }
  }

  /** Nothing that is written down leads to its processes any more. */
  private void erasePid(HostBox box) throws IOException {
    var record = StateFile.record(daemon.home(), box.id());
    assertThat(record.text()).contains(" init=");
    record.edit(line -> Optional.of(line.replaceAll(" init=\\S+", "")));
    assertThat(record.text()).contains(" nonce=").doesNotContain(" init=");
    StateFile.ledger(daemon.home())
        .edit(
            line -> Optional.of(line).filter(kept -> !kept.contains(" " + box.id() + " PROCESS ")));
  }

  private static void remove(Path cgroup) throws IOException {
    try (Stream<Path> all = Files.walk(cgroup)) {
      for (Path each : all.filter(Files::isDirectory).sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    }
  }

  private void assertFound(Meanwhile state, HostBox box) throws IOException {
    BoxState found = client.boxes().inspect(box.name()).state();
    switch (state) {
      case NOTHING, PID_ERASED -> {
        assertThat(found).as(box.name()).isEqualTo(BoxState.RUNNING);
        box.assertIsThere();
      }
      case PAUSED_BEFORE -> {
        assertThat(found).as(box.name()).isEqualTo(BoxState.PAUSED);
        box.assertIsThere();
      }
      case KILLED, CGROUPS_REMOVED ->
          assertThat(found).as(box.name()).isNotIn(BoxState.RUNNING, BoxState.PAUSED);
    }
  }

  // --- without its supervisors ---

  /**
   * The wrappers of a box end once it runs; of the processes around the daemon the inner supervisor
   * stays, which is the parent of the box when the daemon is gone.
   */
  @Test
  void aDaemonWithoutItsSupervisorCanBeEnded() throws Exception {
    var boxes = new EnumMap<Way, HostBox>(Way.class);
    for (Way way : Way.values()) {
      HostBox box = create("kept-" + way, BoxRequest.defaults(), SLEEP);
      assertThat(box.pids()).noneMatch(pid -> commandOf(pid).contains("bwrap"));
      boxes.put(way, box);
    }
    daemon.kill();
    daemon.killKeeper();
    try (var _ = new Undertaker()) {
      restart();
      for (var each : boxes.entrySet()) {
        each.getValue().assertIsThere();
        end(each.getKey(), each.getValue());
      }
      theBystanderIsUntouched();
    }
    createBystander();
  }

  private static String commandOf(long pid) {
    return ProcessHandle.of(pid).flatMap(handle -> handle.info().command()).orElse("");
  }

  // --- stuck ---

  @Test
  void oneInTheKernelIsStuckAndGoneAfterwards() throws Exception {
    TestHost.require(Feature.ROOT, Feature.LOOP_DEVICES);
    FrozenDisk disk = FrozenDisk.mount();
    try {
      var request =
          BoxRequest.defaults().withMount(new Mount(disk.path().toString(), "/data", false));
      for (Way way : Way.values()) {
        client.boxes().create(request.withName("stuck-" + way).withDetached());
      }
      disk.freeze();
      var boxes = new EnumMap<Way, HostBox>(Way.class);
      for (Way way : Way.values()) {
        client.execs("stuck-" + way).start(ExecRequest.of("sh", "-c", "echo x > /data/" + way));
        boxes.put(way, awaitAsleep("stuck-" + way));
      }
      getStuck(boxes);
      disk.thaw();
      for (var each : boxes.entrySet()) {
        end(each.getKey(), each.getValue());
      }
    } finally {
      disk.unmount();
    }
  }

  private HostBox awaitAsleep(String name) throws IOException {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () ->
                client.boxes().inspect(name).holdings().stream()
                    .anyMatch(held -> "D".equals(held.state())));
    return HostBox.look(client, name);
  }

  /** Both at once: each takes its time. */
  private void getStuck(Map<Way, HostBox> boxes) throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var attempts = new ArrayList<Future<Certificate>>();
      for (var each : boxes.entrySet()) {
        attempts.add(threads.submit(() -> attempt(each.getKey(), each.getValue().name())));
      }
      for (var each : attempts) {
        assertThat(each.get().clean()).isFalse();
        assertThat(each.get().stuck()).anyMatch(stuck -> stuck.reason().contains("state D"));
      }
    }
    for (HostBox each : boxes.values()) {
      assertThat(client.boxes().inspect(each.name()).state()).isEqualTo(BoxState.STUCK);
      assertThat(each.pids()).anyMatch(HostBox::isThere);
    }
  }

  private Certificate attempt(Way way, String name) throws IOException {
    return way == Way.REMOVE
        ? client.boxes().remove(name, true)
        : Objects.requireNonNull(client.boxes().stop(name, Duration.ZERO).certificate());
  }
}
