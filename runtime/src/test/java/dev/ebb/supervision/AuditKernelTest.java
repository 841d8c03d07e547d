package dev.ebb.supervision;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.box.Box;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Kind;
import dev.ebb.model.Mount;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Whatever is planted beside a living box is found, and the box is not. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class AuditKernelTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(20));
  private static final String NOBODY = "bffffffffffff";

  /** How often, at least, a storm is looked at. */
  private static final int ROUNDS = 11;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final AtomicBoolean planted = new AtomicBoolean();
  private Engine engine;
  private Box box;
  private Exec exec;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.openForDaemon(host.home());
    assertThat(engine.adopt()).isEmpty();
    box = engine.create(BoxSpec.defaults());
    box.execSite().directory().make();
    exec = engine.start(box, ExecSpec.of("sleep", "1000").withTimeout(Duration.ZERO));
    assertThat(exec.awaitStart(SOON)).isTrue();
  }

  /** The box lived through it all, and goes whole. */
  @AfterEach
  void close() {
    if (box.state() != BoxState.GONE) {
      assertThat(exec.pids()).isNotEmpty();
      assertThat(engine.release(box).isClean()).isTrue();
    }
    engine.close();
  }

  private Path directory() {
    return requireNonNull(box.execSite().directory().logs().path().getParent());
  }

  private String instance() {
    return String.valueOf(directory().getFileName());
  }

  private List<Path> cgroups() {
    return engine.hierarchies().everywhere(instance());
  }

  /** Reports, then mends, then has nothing to report. */
  private List<Finding> sweep() {
    List<Finding> planned = engine.audit(true);
    assertThat(planned).allMatch(finding -> finding.fate() instanceof Fate.Planned);
    List<Finding> mended = engine.audit(false);
    assertThat(mended).allMatch(finding -> finding.fate() instanceof Fate.Released);
    assertThat(subjects(mended)).isEqualTo(subjects(planned));
    assertThat(engine.audit(false)).isEmpty();
    return mended;
  }

  private static List<String> subjects(List<Finding> findings) {
    return findings.stream().map(each -> each.kind().wireName() + " " + each.subject()).toList();
  }

  @Test
  void whereAllIsWellItFindsNothing() throws Exception {
    Box detached = engine.create(BoxSpec.defaults());
    detached.detach(Optional.empty(), Map.of());
    Exec keeper = engine.start(detached, ExecSpec.of("sh", "-c", "sleep 1000 &").withKeep());
    assertThat(keeper.await().leftovers().kept()).isNotEmpty();
    Box stopped = engine.create(BoxSpec.defaults());
    stopped.detach(Optional.empty(), Map.of());
    assertThat(engine.stop(stopped).isClean()).isTrue();

    assertThat(engine.audit(true)).isEmpty();
    assertThat(engine.audit(false)).isEmpty();

    assertThat(engine.release(detached).isClean()).isTrue();
    engine.forget(stopped);
  }

  @Test
  void unlistedCgroupsAreRemovedWithTheirProcesses() throws Exception {
    TestHost.require(Feature.CGROUPS);
    List<Path> planted = cgroups().stream().map(root -> root.resolve(NOBODY)).toList();
    for (Path path : planted) {
      Cgroup.create(path);
    }
    Process squatter = new ProcessBuilder("sleep", "1000").start();
    Cgroup inner = Cgroup.create(planted.getFirst().resolve("inner"));
    Files.writeString(inner.path().resolve("cgroup.procs"), Long.toString(squatter.pid()));

    assertThat(sweep()).extracting(Finding::kind).containsOnly(Kind.CGROUP).hasSize(planted.size());
    assertThat(squatter.waitFor()).isEqualTo(137);
    assertThat(planted).noneMatch(Files::exists);
  }

  @Test
  void aLeafOfNoCommandGoes() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Path leaf = cgroups().getFirst().resolve(box.id() + "/work/77");
    Cgroup.create(leaf);
    assertThat(subjects(sweep())).containsExactly("cgroup " + leaf);
    assertThat(leaf).doesNotExist();
  }

  @Test
  void aProcessWithTheUidOfNoBoxIsKilled() throws Exception {
    TestHost.require(Feature.ROOT);
    orphan("exec");
    ProcessRef stray = ofIdleUser();
    assertThat(subjects(sweep())).containsExactly("process " + stray);
    assertThat(stray.exists()).isFalse();
  }

  @Test
  void aProcessWithTheSameUidInAnotherInstancesCgroupIsLeftAlone() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.CGROUPS);
    long self = ProcessHandle.current().pid();
    // Like an instance, and like what a neighbour's leak check knows to be of this JVM.
    Path another = cgroups().getFirst().resolveSibling("ebb-deadbeef-" + self);
    Cgroup.create(another);
    try {
      assertLeftAlone(orphan("echo 0 >" + another + "/cgroup.procs && exec"));
    } finally {
      Files.delete(another);
    }
  }

  @Test
  void aProcessWithTheSameUidInABoxOfAContainerIsLeftAlone() throws Exception {
    TestHost.require(Feature.ROOT);
    assertLeftAlone(orphan("exec unshare --pid --fork unshare --pid --fork"));
  }

  private void assertLeftAlone(ProcessRef orphan) throws Exception {
    ProcessRef another = ofIdleUser();
    try {
      assertThat(sweep()).isEmpty();
      assertThat(another.isAlive()).isTrue();
    } finally {
      another.signal(Signal.KILL);
      await().atMost(SOON).until(() -> TestHost.reapOrphans() >= 0 && !orphan.exists());
    }
  }

  /** Falls to this process, and has somebody run as a user of ours that no box has. */
  private ProcessRef orphan(String how) throws Exception {
    String command = "(" + how + " setpriv --reuid " + idle() + " sleep 1000) >&2 & echo $!";
    var shell = new ProcessBuilder("sh", "-c", command).start();
    return ProcessRef.of(Integer.parseInt(shell.inputReader().readLine())).orElseThrow();
  }

  private int idle() {
    return box.footprint().uid() + 1;
  }

  private ProcessRef ofIdleUser() {
    return await()
        .atMost(SOON)
        .until(
            () ->
                ProcFs.all().stream()
                    .filter(pid -> ProcFs.uid(pid).stream().anyMatch(uid -> uid == idle()))
                    .filter(pid -> ProcFs.commandLine(pid).equals("sleep 1000"))
                    .flatMap(pid -> ProcessRef.of(pid).stream())
                    .findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  @Test
  void anUnlistedDirectoryIsRemoved() throws Exception {
    Path planted = directory().resolve(NOBODY);
    Files.createDirectory(planted);
    Files.writeString(planted.resolve("1.stdout"), "x");
    Files.writeString(planted.resolve("record"), "x");
    assertThat(subjects(sweep())).containsExactly("directory " + planted);
    assertThat(planted).doesNotExist();
  }

  @Test
  void aRecordAndASocketOfABoxThatIsNotDetachedGo() throws Exception {
    Path record = box.execSite().directory().logs().recordFile();
    Files.writeString(record, "x");
    try (var socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      bind(socket, box.execSite().directory().logs().control());
    }
    assertThat(subjects(sweep()))
        .containsExactly(
            "record " + record, "socket " + box.execSite().directory().logs().control());
    assertThat(record).doesNotExist();
    assertThat(box.execSite().directory().logs().control()).doesNotExist();
  }

  /** A path may be too long for an address. */
  private static void bind(ServerSocketChannel socket, Path path) throws IOException {
    Path brief = Files.createTempDirectory(Path.of("/tmp"), "ebb-audit");
    try {
      socket.bind(UnixDomainSocketAddress.of(brief.resolve("s")));
      Files.move(brief.resolve("s"), path);
    } finally {
      Files.delete(brief);
    }
  }

  @Test
  void whatCouldNotBeUnmadeIsTriedAgain() throws Exception {
    Path inTheWay = failToMakeABox();
    String id = requireNonNull(inTheWay.getParent()).getFileName().toString();
    assertThat(engine.audit(false))
        .anyMatch(each -> each.fate() instanceof Fate.Stuck && each.kind() == Kind.DIRECTORY);
    assertThat(linesOf(id)).isNotEmpty();
    Files.delete(inTheWay);

    List<String> lines = linesOf(id);
    assertThat(subjects(sweep())).containsExactlyInAnyOrderElementsOf(lines);
    assertThat(linesOf(id)).isEmpty();
    Box next = engine.create(BoxSpec.defaults());
    if (Feature.ROOT.isPresent()) {
      assertThat(next.footprint().uid())
          .as("the uid is lent again")
          .isEqualTo(box.footprint().uid() + 1);
    }
    engine.release(next);
  }

  /** They have no owner after their engine was closed. */
  @Test
  void linesOfNoBoxAreStruckOnceNothingOfItIsLeft() throws Exception {
    Path inTheWay = failToMakeABox();
    String id = requireNonNull(inTheWay.getParent()).getFileName().toString();
    assertThatThrownBy(engine::close).hasMessageContaining("left for the next sweep");
    engine = Engine.openForDaemon(host.home());
    assertThat(linesOf(id)).isNotEmpty();
    assertThat(engine.audit(false)).anyMatch(each -> each.fate() instanceof Fate.Stuck);
    Files.delete(inTheWay);

    List<String> lines = linesOf(id);
    assertThat(subjects(sweep())).containsExactlyInAnyOrderElementsOf(lines);
    assertThat(linesOf(id)).isEmpty();
  }

  /** A box that could be neither made nor unmade, for what is returned was in the way. */
  private Path failToMakeABox() throws IOException {
    var id = engine.newId();
    Path inTheWay = directory().resolve(id.value()).resolve("in the way");
    Path vanishes = Files.createDirectory(host.home().resolve("vanishes"));
    BoxSpec impossible = BoxSpec.defaults().withMount(new Mount(vanishes, "/m", true));
    Files.delete(vanishes);
    assertThatThrownBy(
            () -> engine.create(id, impossible, state -> plantWhenStopping(state, inTheWay)))
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("clean-up failed");
    assertThat(linesOf(id.value())).isNotEmpty();
    return inTheWay;
  }

  private void plantWhenStopping(BoxState state, Path path) {
    if (state == BoxState.STOPPING && planted.compareAndSet(false, true)) {
      try {
        Filesystem.mkdir(requireNonNull(path.getParent()), 0700);
        Filesystem.mkdir(path, 0700);
      } catch (KernelException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private List<String> linesOf(String id) {
    return engine.holdings().stream()
        .filter(held -> held.box().equals(id))
        .map(held -> held.kind().wireName() + " " + held.subject())
        .toList();
  }

  @Test
  void resourcesThatALivingBoxLostAreReported() throws Exception {
    Path lost = box.execSite().directory().logs().path();
    Files.move(lost, host.home().resolve("elsewhere"));
    assertThat(engine.audit(false))
        .containsExactly(
            new Finding(instance(), Kind.DIRECTORY, lost.toString(), new Fate.Missing()));
    Files.move(host.home().resolve("elsewhere"), lost);
    assertThat(engine.audit(false)).isEmpty();
  }

  @Test
  void aMountInTheHomeIsReportedAndLeft() throws Exception {
    TestHost.require(Feature.ROOT);
    // Named so, a neighbour's leak check knows it to be of this JVM.
    Path point =
        box.execSite()
            .directory()
            .logs()
            .path()
            .resolve("ebb-audit-" + ProcessHandle.current().pid());
    Files.createDirectory(point);
    run("mount", "-t", "tmpfs", "ebb-audit", point.toString());
    try {
      assertThat(engine.audit(false))
          .anyMatch(each -> each.kind() == Kind.MOUNT && each.fate() instanceof Fate.Left);
    } finally {
      run("umount", point.toString());
      Files.delete(point);
    }
    assertThat(engine.audit(false)).isEmpty();
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  /** Boxes come and go meanwhile: nothing of them is ever taken for a stray. */
  @Test
  void inAStormItFindsNothing() throws Exception {
    var rounds = new AtomicInteger();
    try (var workers =
        Executors.newFixedThreadPool(3, Thread.ofPlatform().name("storm").factory())) {
      var storm = new ArrayList<Future<?>>();
      for (int i = 0; i < 3; i++) {
        storm.add(workers.submit(() -> makeAndRelease(rounds)));
      }
      try {
        while (!storm.stream().allMatch(Future::isDone)) {
          assertThat(engine.audit(false)).isEmpty();
          rounds.incrementAndGet();
        }
      } finally {
        rounds.set(ROUNDS);
      }
      for (Future<?> each : storm) {
        each.get();
      }
    }
    assertThat(engine.leaks()).isZero();
  }

  private Void makeAndRelease(AtomicInteger rounds) throws Exception {
    for (int i = 0; i < 12 || rounds.get() < ROUNDS; i++) {
      Box each = engine.create(BoxSpec.defaults());
      if (i % 3 == 0) {
        each.detach(Optional.empty(), Map.of());
      }
      assertThat(engine.start(each, ExecSpec.of("true")).await().cause().code()).isZero();
      assertThat(engine.release(each).isClean()).isTrue();
    }
    return null;
  }
}
