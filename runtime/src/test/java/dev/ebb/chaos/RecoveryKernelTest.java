package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The resources that recovery releases, and those that it must not touch. */
@Tag("kernel")
@LeakChecked
class RecoveryKernelTest {
  /** KERNEL: pipe(7), 16 pages. */
  private static final int PIPE_CAPACITY = 64 * 1024;

  private static final ExecSpec SLEEP = ExecSpec.of("sleep", "1000");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @Test
  void enginesOnOneHomeDoNotTouchEachOther() throws Exception {
    try (Engine one = Engine.open(host.home())) {
      Box box = one.create(BoxSpec.defaults());
      Exec exec = one.start(box, SLEEP);
      try (Engine other = Engine.open(host.home())) {
        assertThat(other.recovered()).isEmpty();
        Box neighbour = other.create(BoxSpec.defaults());
        assertThat(neighbour.footprint().uid() == box.footprint().uid())
            .isNotEqualTo(Feature.ROOT.isPresent());
        assertThat(Remains.sweep(host.home(), false)).isEmpty();
      }
      assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(ExitCause.Killed.class);
      assertThat(one.release(box).isClean()).isTrue();
    }
  }

  @Test
  void theInstanceOfALivingProcessIsNeverClaimed() throws Exception {
    try (ChildJvm jvm = Tenant.start(host.home(), 1)) {
      jvm.awaitLine("full");
      List<ProcessRef> members = Remains.of(host.home()).members();
      assertThat(members).isNotEmpty();
      try (Engine engine = Engine.open(host.home())) {
        assertThat(engine.recovered()).isEmpty();
      }
      assertThat(Remains.sweep(host.home(), false)).isEmpty();
      assertThat(members).allMatch(ProcessRef::isAlive);
      jvm.kill();
    }
    Remains.of(host.home()).dieByThemselves();
    Remains.recover(host.home());
  }

  @Test
  void aLivingEngineReleasesWhatAnotherOneLeft() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      try (ChildJvm jvm = Tenant.start(host.home(), 1)) {
        jvm.awaitLine("full");
        assertThat(engine.recoverOthers(false)).isEmpty();
        jvm.kill();
      }
      Remains.of(host.home()).dieByThemselves();
      Box box = engine.create(BoxSpec.defaults());
      assertThat(engine.recoverOthers(true)).anyMatch(each -> each.fate() instanceof Fate.Planned);
      assertThat(engine.recoverOthers(false))
          .isNotEmpty()
          .noneMatch(each -> each.fate() instanceof Fate.Stuck);
      assertThat(engine.recoverOthers(false)).isEmpty();
      assertThat(engine.audit(false)).isEmpty();
      assertThat(box.state()).isEqualTo(BoxState.RUNNING);
    }
    // Its inits fell to us.
    TestHost.awaitOrphans();
  }

  /** A bwrap that was killed in the middle of its work leaves its child waiting for ever. */
  @Test
  void aHalfMadeBoxThatCannotEndByItselfIsEnded() throws Exception {
    ProcessRef blocked = leaveHalfMadeBox();
    try {
      assertThat(Remains.sweep(host.home(), true))
          .anyMatch(
              finding -> finding.kind() == holder() && finding.fate() instanceof Fate.Planned);
      assertThat(blocked.isAlive()).isTrue();
      Remains.recover(host.home());
    } finally {
      blocked.signal(Signal.KILL);
    }
  }

  /** The identity by which a half-made box is found. */
  private static Kind holder() {
    return Feature.CGROUPS.isPresent() ? Kind.CGROUP : Kind.PROCESS;
  }

  /** Kills an engine, the outside role and bwrap, and returns what would have been init. */
  private ProcessRef leaveHalfMadeBox() throws Exception {
    try (ChildJvm jvm = Churn.start(host.home())) {
      jvm.awaitLine("opening");
      Making making = Eventually.find(Eventually.SOON, () -> interrupt(jvm.pid())).orElseThrow();
      String outside = making.outside.toString();
      Eventually.holds(
          "it is on the ledger", () -> Remains.of(host.home()).processes().contains(outside));
      jvm.kill();
      making.outside.signal(Signal.KILL);
      making.bwrap.signal(Signal.KILL);
      return making.future;
    }
  }

  private record Making(ProcessRef outside, ProcessRef bwrap, ProcessRef future) {}

  /**
   * Halts bwrap when it has a child that waits for it: it blocks while it writes the child's pid,
   * because the pipe is full. Empty if we came too late.
   */
  private static Optional<Making> interrupt(int engine) throws Exception {
    Optional<ProcessRef> outside = first(Kin.outsides(engine));
    Optional<ProcessRef> bwrap = outside.isEmpty() ? outside : firstChild(outside.get());
    if (bwrap.isEmpty()) {
      return Optional.empty();
    }
    boolean halted = halt(outside.get()) && halt(bwrap.get());
    Optional<Path> info = halted ? infoPipe(bwrap.get().pid()) : Optional.empty();
    if (info.isEmpty() || firstChild(bwrap.get()).isPresent()) {
      outside.get().signal(Signal.CONT);
      bwrap.get().signal(Signal.CONT);
      return Optional.empty();
    }
    Files.write(info.get(), new byte[PIPE_CAPACITY]);
    bwrap.get().signal(Signal.CONT);
    Optional<ProcessRef> future =
        Eventually.find(Eventually.SOON, () -> firstChild(bwrap.get()).filter(_ -> tells(bwrap)));
    if (future.isEmpty()) {
      outside.get().signal(Signal.CONT); // which reads nonsense, and gives up
    }
    return future.map(child -> new Making(outside.get(), bwrap.get(), child));
  }

  private static boolean tells(Optional<ProcessRef> bwrap) {
    return ProcFs.waitChannel(bwrap.orElseThrow().pid()).contains("pipe_write");
  }

  /** False if it is gone. */
  private static boolean halt(ProcessRef process) throws Exception {
    process.signal(Signal.STOP);
    Eventually.holds("it stands still, or is gone", () -> !process.isAlive() || isHalted(process));
    return isHalted(process);
  }

  private static boolean isHalted(ProcessRef process) {
    return ProcFs.stat(process.pid()).filter(stat -> stat.state() == 'T').isPresent();
  }

  /** The one pipe of which it has both ends; none, to an ordinary user, before it is bwrap. */
  private static Optional<Path> infoPipe(int bwrap) throws IOException {
    var seen = new HashSet<String>();
    try (var descriptors = Files.newDirectoryStream(Path.of("/proc/" + bwrap + "/fd"))) {
      for (Path descriptor : descriptors) {
        String target = Files.readSymbolicLink(descriptor).toString();
        if (target.startsWith("pipe:") && !seen.add(target)) {
          return Optional.of(descriptor);
        }
      }
    } catch (AccessDeniedException e) {
      return Optional.empty();
    }
    return Optional.empty();
  }

  private static Optional<ProcessRef> firstChild(ProcessRef parent) throws IOException {
    return first(Kin.livingChildren(parent.pid()));
  }

  private static Optional<ProcessRef> first(List<ProcessRef> processes) {
    return processes.stream().findFirst();
  }

  @Test
  void aDryRunReportsAllAndChangesNothing() throws Exception {
    Remains remains = Remains.ofTenant(host.home(), 2);
    remains.dieByThemselves();
    Map<String, String> before = contents(host.home());

    List<Recovery.Finding> plan = Remains.sweep(host.home(), true);

    assertThat(contents(host.home())).isEqualTo(before);
    assertThat(remains.cgroups().isEmpty()).isNotEqualTo(Feature.CGROUPS.isPresent());
    assertThat(remains.cgroups()).allMatch(Files::isDirectory);
    assertThat(plan)
        .filteredOn(finding -> finding.kind() == Kind.CGROUP)
        .hasSameSizeAs(remains.cgroups())
        .allMatch(finding -> finding.fate() instanceof Fate.Planned);
    List<Recovery.Finding> done = Remains.sweep(host.home(), false);
    assertThat(done).hasSameSizeAs(plan).noneMatch(f -> f.fate() instanceof Fate.Planned);
    assertThat(remains.cgroups()).noneMatch(Files::exists);
    Remains.recover(host.home());
  }

  private static Map<String, String> contents(Path home) throws IOException {
    var contents = new TreeMap<String, String>();
    try (var paths = Files.walk(home)) {
      for (Path path : (Iterable<Path>) paths::iterator) {
        boolean isText = Files.isRegularFile(path) && !path.startsWith(home.resolve("lib"));
        contents.put(path.toString(), isText ? Files.readString(path) : "");
      }
    }
    return contents;
  }

  @Test
  void aForeignCgroupWithALookAlikeNameIsNotTouched() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Path unified = Hierarchies.detect().unified().orElseThrow();
    // Like an instance of ours, and like what a neighbour's leak check knows to be of this JVM.
    String name = "ebb-deadbeef-" + ProcessHandle.current().pid();
    var foreign = Cgroup.create(unified.resolve(name));
    Process sleeper = new ProcessBuilder("sleep", "1000").start();
    try {
      Files.writeString(foreign.path().resolve("cgroup.procs"), Long.toString(sleeper.pid()));
      Remains.ofTenant(host.home(), 1);
      try (Engine engine = Engine.open(host.home())) {
        assertThat(engine.recovered()).isNotEmpty();
      }
      assertThat(foreign.procs()).containsExactly((int) sleeper.pid());
      assertThat(sleeper.isAlive()).isTrue();
    } finally {
      sleeper.destroyForcibly().waitFor();
      Filesystem.rmdir(foreign.path());
    }
    Remains.recover(host.home());
  }
}
