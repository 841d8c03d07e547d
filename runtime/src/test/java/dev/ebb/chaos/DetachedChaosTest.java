package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.box.Box;
import dev.ebb.box.BoxRecord;
import dev.ebb.engine.AdoptedBoxes;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.FileJournal;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A detached box outlives a daemon that is killed, and the next one finds it as it is. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DetachedChaosTest {
  private static final String FOREVER = "exec sleep 1000";

  /** How many execs an init can have at once. */
  private static final int INIT_SLOTS = 256;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  /** Leaves what a daemon had when it was killed. */
  private void killPatron(int boxes, String... commands) throws Exception {
    try (ChildJvm patron = Patron.start(host.home(), boxes, commands)) {
      patron.awaitLine("ready");
      patron.kill();
    }
  }

  /** A failed test leaves boxes that nothing else would end. */
  @AfterEach
  void releaseAll() throws Exception {
    AdoptedBoxes.releaseAll(host);
  }

  private void assertNothingIsLeft() throws Exception {
    try (var instances = Files.list(host.home().resolve("instances"))) {
      assertThat(instances).isEmpty();
    }
    Eventually.holds("every process is dead", () -> Remains.living().isEmpty());
    TestHost.reapOrphans();
  }

  @Test
  void itsCommandsRunOnAndTheirOutputIsComplete() throws Exception {
    String counting =
        "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; sleep 1; echo over; exit 7";
    killPatron(2, counting, FOREVER);
    try (Engine engine = Engine.openForDaemon(host.home())) {
      List<Engine.Adopted> adopted = engine.adopt();
      assertThat(adopted)
          .extracting(each -> each.record().orElseThrow().note())
          .containsExactly(Map.of("n", "0"), Map.of("n", "1"));
      for (Engine.Adopted each : adopted) {
        assertThat(each.box().state()).isEqualTo(BoxState.RUNNING);
        assertThat(each.execs()).extracting(Exec::number).containsExactly(1, 2);
        Exec counted = each.execs().getFirst();
        assertThat(counted.await().cause()).isEqualTo(new ExitCause.Exited(7));
        String all =
            IntStream.range(0, 2000)
                .mapToObj(i -> "line " + i + "\n")
                .collect(Collectors.joining());
        assertThat(text(counted)).isEqualTo(all + "over\n");

        Exec sleeping = each.execs().getLast();
        assertThat(sleeping.pids()).hasSize(1);
        Exec next = engine.start(each.box(), ExecSpec.of("/bin/echo", "again"));
        assertThat(next.number()).isEqualTo(3);
        assertThat(next.await().cause()).isEqualTo(new ExitCause.Exited(0));
        assertThat(sleeping.killAndAwait(Duration.ZERO).cause())
            .isInstanceOf(ExitCause.Killed.class);
        assertThat(engine.release(each.box()).isClean()).isTrue();
      }
    }
    assertNothingIsLeft();
  }

  private static String text(Exec exec) {
    byte[] bytes = new byte[(int) exec.stdout().size()];
    assertThat(exec.stdout().read(0, bytes)).isEqualTo(bytes.length);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Test
  void theNumberOfACommandNeverComesAgain() throws Exception {
    killPatron(1, "exit 0", "exit 0");
    for (int next = 3; next < 5; next++) {
      try (Engine engine = Engine.openForDaemon(host.home())) {
        Engine.Adopted found = engine.adopt().getFirst();
        for (Exec exec : found.execs()) {
          exec.await();
          exec.close();
        }
        Exec exec = engine.start(found.box(), ExecSpec.of("/bin/true"));
        assertThat(exec.number()).isEqualTo(next);
        exec.await();
        exec.close();
      }
    }
    try (Engine engine = Engine.openForDaemon(host.home())) {
      engine.release(engine.adopt().getFirst().box());
    }
    assertNothingIsLeft();
  }

  @Test
  void anEndWithoutAnEngineIsReportedWithItsCause() throws Exception {
    killPatron(1, "exit 3", "kill -SEGV $$", "sleep 0.5; exit 4", FOREVER);
    // The other commands end before the next engine opens.
    ProcessRef sleeper = theSleeper();
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Engine.Adopted box = engine.adopt().getFirst();
      assertThat(sleeper.isAlive()).isTrue();
      assertThat(box.execs().get(0).await().cause()).isEqualTo(new ExitCause.Exited(3));
      assertThat(box.execs().get(1).await().cause())
          .isEqualTo(new ExitCause.Signalled(Signal.SEGV.number()));
      assertThat(box.execs().get(2).await().cause()).isEqualTo(new ExitCause.Exited(4));
      engine.release(box.box());
    }
    assertNothingIsLeft();
  }

  /** Waits for the others to end; returns the process of the command that is left. */
  private ProcessRef theSleeper() throws Exception {
    return Eventually.find(
            Eventually.SOON,
            () -> {
              var living = Remains.of(host.home()).members();
              // Without cgroups a command has a subreaper.
              return living.size() <= (Feature.CGROUPS.isPresent() ? 2 : 3)
                  ? living.stream().skip(1).findFirst()
                  : Optional.empty();
            })
        .orElseThrow();
  }

  /** Returns the init of the only detached box. */
  private ProcessRef init() throws Exception {
    Path record = Path.of(Remains.of(host.home()).records().getFirst());
    return BoxRecord.read(new FileJournal(record)).init().orElseThrow();
  }

  @Test
  void aBoxWithADeadInitIsLostAndItsRemainsAreReleased() throws Exception {
    killPatron(1, "echo words; " + FOREVER);
    Path record = Path.of(Remains.of(host.home()).records().getFirst());
    Path log = record.resolveSibling("1.stdout");
    Eventually.holds("it has written", () -> Files.size(log) > 0);
    assertThat(init().signal(Signal.KILL)).isTrue();
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Engine.Adopted found = engine.adopt().getFirst();
      assertThat(found.box().state()).isEqualTo(BoxState.LOST);
      Exec exec = found.execs().getFirst();
      assertThat(exec.await().cause()).isEqualTo(new ExitCause.Lost());
      assertThat(text(exec)).isEqualTo("words\n");
      assertThat(engine.release(found.box()).isClean()).isTrue();
    }
    assertNothingIsLeft();
  }

  @Test
  void aSilentBoxIsLeftAloneAndAdoptedWhenItAnswers() throws Exception {
    killPatron(1, FOREVER);
    ProcessRef sleeper = theSleeper();
    // This process inherited the other children of the dead engine.
    TestHost.awaitOrphans(init().pid());
    assertThat(init().signal(Signal.STOP)).isTrue();
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Box silent = engine.adopt().getFirst().box();
      assertThat(silent.state()).isEqualTo(BoxState.UNREACHABLE);
      assertThat(engine.audit(false)).isEmpty();
      assertThat(sleeper.isAlive()).isTrue();
      assertThat(init().signal(Signal.CONT)).isTrue();

      Engine.Adopted found = engine.adoptAgain(silent).orElseThrow();
      assertThat(found.box().state()).isEqualTo(BoxState.RUNNING);
      assertThat(found.execs()).hasSize(1);
      assertThat(engine.adoptAgain(silent)).isEmpty();
      assertThat(sleeper.isAlive()).isTrue();
      assertThat(engine.release(found.box()).isClean()).isTrue();
    }
    assertNothingIsLeft();
  }

  @Test
  void aReleaseDoesNotWaitForAnAdoptionInProgress() throws Exception {
    killPatron(1, FOREVER);
    ProcessRef init = init();
    Path record = Path.of(Remains.of(host.home()).records().getFirst());
    byte[] whole = Files.readAllBytes(record);
    Files.writeString(record, "nonsense\n");
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Box silent = engine.adopt().getFirst().box();
      Files.write(record, whole);
      assertThat(init.signal(Signal.STOP)).isTrue();
      var trying = new FutureTask<>(() -> engine.adoptAgain(silent));
      Thread adopter = Thread.ofPlatform().name("adopter").start(trying);
      Eventually.holds("the engine awaits its answer", () -> isIn(adopter, "greet"));

      long asked = System.nanoTime();
      assertThat(engine.release(silent).isClean()).isTrue();
      // Init would have had ten seconds to answer.
      assertThat(Duration.ofNanos(System.nanoTime() - asked))
          .isLessThan(TestHost.patience(Duration.ofSeconds(5)));
      assertThat(trying.get()).isEmpty();
    }
    assertNothingIsLeft();
  }

  private static boolean isIn(Thread thread, String method) {
    return Stream.of(thread.getStackTrace()).anyMatch(at -> at.getMethodName().equals(method));
  }

  @Test
  void aBoxWithADamagedRecordLivesAndCanBeEnded() throws Exception {
    killPatron(1, FOREVER);
    ProcessRef sleeper = theSleeper();
    // This process inherited the other children of the dead engine.
    TestHost.awaitOrphans(init().pid());
    Files.writeString(Path.of(Remains.of(host.home()).records().getFirst()), "nonsense\n");
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Engine.Adopted found = engine.adopt().getFirst();
      assertThat(found.box().state()).isEqualTo(BoxState.UNREACHABLE);
      assertThat(found.record()).isEmpty();
      assertThat(engine.audit(false)).isEmpty();
      assertThat(sleeper.isAlive()).isTrue();
      assertThat(engine.adoptAgain(found.box())).isEmpty();
      assertThat(engine.release(found.box()).isClean()).isTrue();
    }
    assertNothingIsLeft();
  }

  @Test
  void anEmptyRecordDescribesNoBox() throws Exception {
    killPatron(1, FOREVER);
    Path record = Path.of(Remains.of(host.home()).records().getFirst());
    assertThat(init().signal(Signal.KILL)).isTrue();
    Remains.of(host.home()).dieByThemselves();
    Files.writeString(record, "");
    try (Engine engine = Engine.openForDaemon(host.home())) {
      assertThat(engine.adopt()).isEmpty();
    }
    assertNothingIsLeft();
  }

  @Test
  void anEngineThatIsNoDaemonLeavesItAlone() throws Exception {
    killPatron(1, FOREVER);
    try (Engine guest = Engine.open(host.home())) {
      assertThat(guest.recovered())
          .filteredOn(finding -> finding.fate() instanceof Recovery.Fate.Kept)
          .singleElement()
          .extracting(Recovery.Finding::kind)
          .isEqualTo(Kind.RECORD);
    }
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Box box = engine.adopt().getFirst().box();
      assertThat(box.state()).isEqualTo(BoxState.RUNNING);
      engine.release(box);
    }
    assertNothingIsLeft();
  }

  @Test
  void aBoxWithCgroupsEmptiedByHandIsReleased() throws Exception {
    TestHost.require(Feature.CGROUPS);
    killPatron(1, FOREVER);
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Box box = engine.adopt().getFirst().box();
      var pids =
          box.footprint().pids().stream().map(ProcessRef::of).flatMap(Optional::stream).toList();
      assertThat(pids).hasSize(2);
      for (Path path : box.footprint().cgroups()) {
        Path root = path.resolve("../../cgroup.procs").normalize();
        for (ProcessRef each : pids) {
          Files.writeString(root, Integer.toString(each.pid()));
        }
      }
      assertThat(box.footprint().pids()).isEmpty();
      assertThat(engine.release(box).isClean()).isTrue();
      assertThat(pids).noneMatch(ProcessRef::exists);
    }
    assertNothingIsLeft();
  }

  @Test
  void startsThatAreRefusedLeaveRoomForOthers() throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      box.detach(Optional.empty(), Map.of());
      var nowhere = ExecSpec.of("/bin/true").withWorkdir("/nowhere");
      for (int i = 0; i < INIT_SLOTS + 1; i++) {
        Exec refused = engine.start(box, nowhere);
        assertThatThrownBy(refused::await).hasMessageContaining("/nowhere");
      }
      assertThat(engine.start(box, ExecSpec.of("/bin/true")).await().cause())
          .isEqualTo(new ExitCause.Exited(0));
      engine.release(box);
    }
    assertNothingIsLeft();
  }

  @Test
  void aBoxWithoutARecordIsReleased() throws Exception {
    killPatron(1, FOREVER);
    ProcessRef init = init();
    Files.delete(Path.of(Remains.of(host.home()).records().getFirst()));
    Engine.openForDaemon(host.home()).close();
    Eventually.holds("its init is dead", () -> !init.isAlive());
    assertNothingIsLeft();
  }

  @Test
  void aLivingBoxWithADamagedRecordKeepsItsUid() throws Exception {
    killPatron(1, FOREVER);
    ProcessRef init = init();
    Path record = Path.of(Remains.of(host.home()).records().getFirst());
    byte[] whole = Files.readAllBytes(record);
    byte[] damaged = whole.clone();
    damaged[20] ^= 1;
    Files.write(record, damaged);
    try (Engine engine = Engine.openForDaemon(host.home())) {
      assertThat(engine.adopt().getFirst().box().state()).isEqualTo(BoxState.UNREACHABLE);
      assertThat(init.isAlive()).isTrue();
      Box next = engine.create(BoxSpec.defaults());
      // All boxes of an ordinary user have that user's uid.
      assertThat(owner(next.footprint().initPid()).equals(owner(init.pid())))
          .isNotEqualTo(Feature.ROOT.isPresent());
      engine.release(next);
    }
    Files.write(record, whole);
    try (Engine engine = Engine.openForDaemon(host.home())) {
      engine.release(engine.adopt().getFirst().box());
    }
    assertNothingIsLeft();
  }

  /** Reads the uids of a process; init is undumpable, so root owns its files in /proc. */
  private static String owner(int pid) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
        .filter(line -> line.startsWith("Uid:"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void itAlsoOutlivesADaemonThatIsClosed() throws Exception {
    Path home = host.home();
    try (Engine first = Engine.openForDaemon(home)) {
      Box box = first.create(BoxSpec.defaults());
      box.detach(Optional.empty(), Map.of());
      assertThat(first.start(box, ExecSpec.of("/bin/sleep", "1000")).awaitStart(Eventually.SOON))
          .isTrue();
    }
    try (Engine second = Engine.openForDaemon(home)) {
      Engine.Adopted found = second.adopt().getFirst();
      assertThat(found.box().state()).isEqualTo(BoxState.RUNNING);
      assertThat(found.execs().getFirst().pids()).hasSize(1);
      second.stop(found.box());
    }
    try (Engine third = Engine.openForDaemon(home)) {
      Engine.Adopted found = third.adopt().getFirst();
      assertThat(found.box().state()).isEqualTo(BoxState.GONE);
      assertThat(found.execs().getFirst().await().cause()).isInstanceOf(ExitCause.Killed.class);
      third.forget(found.box());
    }
    assertNothingIsLeft();
  }
}
