package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.backend.HostLack;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
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
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Boxes that are cloned, and what becomes of them, and of others, when their maker goes. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class ForkserverKernelTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private @Nullable Engine opened;

  @AfterEach
  void close() {
    if (opened != null) {
      opened.close();
    }
  }

  private Engine engine() throws IOException {
    if (opened == null) {
      opened = Engine.openForDaemon(host.home());
    }
    return opened;
  }

  private Box box() throws IOException {
    return engine().create(BoxSpec.defaults());
  }

  private Optional<HostLack> lack() throws IOException {
    return engine().backends().find(ForkserverBackend.NAME).orElseThrow().lack();
  }

  private List<ProcessRef> forkservers() throws IOException {
    return engine().holdings().stream()
        .filter(held -> held.box().equals(ForkserverBackend.NAME) && held.kind() == Kind.PROCESS)
        .map(held -> ProcessRef.parse(held.subject()))
        .toList();
  }

  private ProcessRef forkserver() throws IOException {
    return forkservers().getFirst();
  }

  private void assertUsable(Box box) throws IOException, InterruptedException {
    assertThat(engine().start(box, ExecSpec.of("true")).await(SOON).orElseThrow().cause())
        .isEqualTo(new ExitCause.Exited(0));
  }

  @Test
  void aDaemonsFirstBoxIsClonedAndSoAreAllThatFollow() throws Exception {
    engine();
    assertThat(forkservers()).isEmpty();
    Box first = box();
    Box second = box();
    assertThat(List.of(first, second))
        .allSatisfy(
            each -> assertThat(each.footprint().backend()).contains(ForkserverBackend.NAME));
    assertThat(forkservers()).hasSize(1);
    assertThat(ProcFs.children())
        .contains(first.footprint().initPid(), second.footprint().initPid(), forkserver().pid());
    assertUsable(first);
    assertUsable(second);
    assertThat(engine().release(first).isClean()).isTrue();
  }

  @Test
  void anEngineThatMakesOneBoxStartsNoForkserver() throws Exception {
    try (Engine guest = Engine.open(host.home())) {
      Box first = guest.create(BoxSpec.defaults());
      assertThat(first.footprint().backend()).contains(Bubblewrap.NAME);
      assertThat(guest.create(BoxSpec.defaults()).footprint().backend())
          .contains(ForkserverBackend.NAME);
    }
  }

  @Test
  void whatIsNotTheSameForAllBoxesBwrapMakes(@TempDir Path files) throws Exception {
    Path file = Files.writeString(files.resolve("file"), "words");
    var specs = new ArrayList<BoxSpec>();
    specs.add(BoxSpec.defaults().withFile(new CopiedFile(file, "/workspace/file")));
    specs.add(BoxSpec.defaults().withNetwork(Network.HOST));
    if (Feature.ROOT.isPresent()) {
      Path shown = Files.createDirectory(files.resolve("shown"));
      specs.add(BoxSpec.defaults().withMount(new Mount(shown, "/shown", true)));
      specs.add(BoxSpec.defaults().withPackages(shown));
    }
    for (BoxSpec spec : specs) {
      Box box = engine().create(spec);
      assertThat(box.footprint().backend()).as(spec.toString()).contains(Bubblewrap.NAME);
      assertUsable(box);
    }
    assertThat(forkservers()).isEmpty();
  }

  @Test
  void aForkserverThatDiesTakesNoBoxAlongAndBwrapMakesTheNext() throws Exception {
    Box before = box();
    ProcessRef dead = forkserver();
    dead.signal(Signal.KILL);
    Box meanwhile = box();
    assertThat(meanwhile.footprint().backend()).contains(Bubblewrap.NAME);
    assertUsable(before);
    assertUsable(meanwhile);
    assertThat(forkservers()).isEmpty();
    assertThat(lack().orElseThrow().finding()).contains("the forkserver is gone");
    assertThat(dead.exists()).isFalse();
    Awaitility.await().atMost(SOON).until(() -> isCloned(box()));
    assertThat(lack()).isEmpty();
  }

  /** Though no other box is made. */
  @Test
  void nothingStaysOfAForkserverThatDies() throws Exception {
    box();
    ProcessRef dead = forkserver();
    dead.signal(Signal.KILL);
    Awaitility.await().atMost(SOON).until(() -> forkservers().isEmpty());
    assertThat(dead.exists()).isFalse();
    assertThat(engine().holdings()).noneMatch(held -> held.box().equals(ForkserverBackend.NAME));
  }

  private boolean isCloned(Box box) throws IOException {
    boolean isCloned = box.footprint().backend().orElseThrow().equals(ForkserverBackend.NAME);
    assertThat(engine().release(box).isClean()).isTrue();
    return isCloned;
  }

  @Test
  void aForkserverThatDoesNotAnswerIsEndedAndItsBoxIsMade() throws Exception {
    box();
    ProcessRef silent = forkserver();
    silent.signal(Signal.STOP);
    Box box = box();
    assertThat(box.footprint().backend()).contains(Bubblewrap.NAME);
    assertUsable(box);
    assertThat(silent.exists()).isFalse();
  }

  @Test
  void manyAreMadeAtOnceWhileForkserversDie() throws Exception {
    box();
    ProcessRef victim = forkserver();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Box>> making = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        making.add(threads.submit(this::box));
      }
      victim.signal(Signal.KILL);
      for (Future<Box> each : making) {
        Box box = each.get();
        assertUsable(box);
        assertThat(engine().release(box).isClean()).isTrue();
      }
    }
    assertThat(engine().leaks()).isZero();
  }

  /** A clone that was never announced: dead, and known by its uid alone. */
  @Test
  void aCloneThatDiedUnannouncedIsReapedWithTheEngine() throws Exception {
    TestHost.require(Feature.ROOT);
    int uid = ProcFs.uid(box().footprint().initPid()).orElseThrow();
    String user = Integer.toString(uid);
    var orphan =
        new ProcessBuilder(
            "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", "true &");
    assertThat(orphan.start().waitFor()).isZero();
    Awaitility.await().atMost(SOON).until(() -> zombies(uid) == 1);
    engine().close();
    assertThat(zombies(uid)).isZero();
  }

  private static long zombies(int uid) {
    return ProcFs.children().stream()
        .filter(pid -> ProcFs.uid(pid).orElse(-1) == uid)
        .filter(pid -> ProcFs.stat(pid).filter(ProcFs.Stat::isZombie).isPresent())
        .count();
  }

  @Test
  void theSweepTakesNoForkserverForAStray() throws Exception {
    box();
    assertThat(engine().audit(false)).isEmpty();
    assertThat(forkserver().isAlive()).isTrue();
  }

  @Test
  void aDetachedBoxOutlivesItsForkserverAndTheNextDaemonHasOneOfItsOwn() throws Exception {
    Box box = box();
    box.detach(Optional.empty(), Map.of());
    ProcessRef first = forkserver();
    engine().close();
    assertThat(first.exists()).isFalse();
    opened = null;
    Engine.Adopted found = engine().adopt().getFirst();
    assertUsable(found.box());
    assertThat(box().footprint().backend()).contains(ForkserverBackend.NAME);
    assertThat(engine().release(found.box()).isClean()).isTrue();
  }

  /** KERNEL: a user's inotify instances are counted in each user namespace above his, too. */
  @Test
  void aBoxCannotUseUpWhatTheKernelGrantsOthers() throws Exception {
    TestHost.require(Feature.ROOT);
    Box greedy = box();
    Box other = box();
    String all = inotifyInstances(greedy, "if os.fork() == 0: time.sleep(100)");
    assertThat(inotifyInstances(other, "")).isEqualTo(all).isNotEqualTo("0");
  }

  /**
   * Takes as many as it can, then runs {@code more}; processes that this leaves still hold them.
   */
  private String inotifyInstances(Box box, String more) throws IOException, InterruptedException {
    String script =
        """
        import ctypes, os, time
        libc = ctypes.CDLL(None)
        print(next(n for n in range(9999) if libc.inotify_init1(0) < 0), end='', flush=True)
        """;
    var spec = ExecSpec.of("/usr/bin/python3", "-c", script + more).withKeep();
    try (Exec exec = engine().start(box, spec)) {
      assertThat(exec.await(SOON).orElseThrow().cause()).isEqualTo(new ExitCause.Exited(0));
      return CapturedOutput.of(exec.stdout()).text();
    }
  }

  /** The kernel would let only root of the host look into another box. */
  @Test
  void aBoxsNamespacesAreItsOwn() throws IOException, KernelException {
    TestHost.require(Feature.ROOT);
    List<Integer> pids =
        List.of(box().footprint().initPid(), box().footprint().initPid(), forkserver().pid());
    for (String name : List.of("mnt", "pid_for_children", "ipc", "uts", "net", "user")) {
      var seen = new ArrayList<String>();
      for (int pid : pids) {
        seen.add(Files.readSymbolicLink(Path.of("/proc/" + pid + "/ns/" + name)).toString());
      }
      assertThat(seen).as(name).doesNotHaveDuplicates();
    }
  }
}
