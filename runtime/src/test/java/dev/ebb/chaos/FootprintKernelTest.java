package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The resources of a runtime, a box and a command while they exist. */
@Tag("kernel")
@LeakChecked
class FootprintKernelTest {
  private static final int SELF = (int) ProcessHandle.current().pid();
  private static final int MOST_THREADS = 22;
  private static final ExecSpec SLEEP = ExecSpec.of("sleep", "1000");

  private static final List<String> IDLE_INIT = init();
  private static final List<String> BUSY_INIT =
      init("cgroup.events", "cgroup.kill", "cgroup.procs", "pipe:", "pipe:");

  /** Without cgroups a pipe from the subreaper stands for the leaf. */
  private static final List<String> SUBREAPER_INIT = init("pipe:", "pipe:", "pipe:");

  private static final List<String> SUBREAPER = List.of("pipe:");
  private static final List<String> COMMAND = List.of("/dev/null", "pipe:", "pipe:");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  /** Returns the sorted descriptors of an init that has some more than an idle one. */
  private static List<String> init(String... more) {
    var all = new ArrayList<>(List.of("/dev/null", "/dev/null", "/dev/null", "socket:"));
    all.addAll(List.of("anon_inode:[eventpoll]", "anon_inode:[signalfd]"));
    all.addAll(List.of(more));
    return all.stream().sorted().toList();
  }

  /** Or two more where it needs a subreaper. */
  @Test
  void aBoxIsOneProcessAndEachCommandOneMore() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      int each = Host.hasSubreapers(engine) ? 2 : 1;
      int before = Kin.descendants(SELF).size();
      Box box = engine.create(BoxSpec.defaults());
      assertThat(box.footprint().pids()).hasSize(1);
      for (int commands = 1; commands <= 3; commands++) {
        engine.start(box, SLEEP);
        int expected = 1 + commands * each;
        Eventually.holds(expected + " processes", () -> box.footprint().pids().size() == expected);
        assertThat(Kin.descendants(SELF)).hasSize(before + expected);
      }
    }
  }

  @Test
  void anEngineHasOneThreadWhateverItsBoxesDo() throws Exception {
    assertThat(engineThreads()).isEmpty();
    try (Engine engine = Engine.open(host.home())) {
      for (int i = 0; i < 4; i++) {
        engine.start(engine.create(BoxSpec.defaults()), SLEEP);
      }
      assertThat(engineThreads()).containsExactly("ebb-poller");
    }
    // KERNEL: a joined thread is in the table for a moment more.
    Eventually.holds("its thread is gone", () -> engineThreads().isEmpty());
  }

  private static List<String> engineThreads() throws IOException {
    return Kin.threads(SELF).stream().filter(name -> name.startsWith("ebb-")).toList();
  }

  @Test
  void anIdleRuntimeHasFewThreadsWithBoxesAndWithout() throws Exception {
    for (int boxes : List.of(0, 4)) {
      try (ChildJvm jvm = Tenant.start(host.home(), boxes)) {
        jvm.awaitLine("full");
        assertThat(Kin.threads(jvm.pid())).hasSizeLessThanOrEqualTo(MOST_THREADS);
        jvm.kill();
      }
      Remains.of(host.home()).dieByThemselves();
      Remains.recover(host.home());
    }
  }

  @Test
  void initHasNoDescriptorThatIsNotItsOwn() throws Exception {
    TestHost.require(Feature.ROOT); // only root can look into init
    try (var _ = new Strays();
        Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      int init = box.footprint().initPid();
      assertHolds(init, IDLE_INIT);

      Exec exec = startTalking(engine, box);
      int command = exec.pids().getFirst();
      if (Host.hasSubreapers(engine)) {
        assertHolds(init, SUBREAPER_INIT);
        assertHolds(Kin.parent(command).orElseThrow(), SUBREAPER);
      } else {
        assertHolds(init, BUSY_INIT);
        assertThat(Kin.parent(command)).hasValue(init);
      }

      exec.killAndAwait(Duration.ZERO);
      assertHolds(init, IDLE_INIT);
    }
  }

  @Test
  void commandsHaveNoDescriptorThatIsNotTheirs() throws Exception {
    try (var _ = new Strays();
        Engine engine = Engine.open(host.home())) {
      Exec exec = startTalking(engine, engine.create(BoxSpec.defaults()));
      assertHolds(exec.pids().getFirst(), COMMAND);
      exec.killAndAwait(Duration.ZERO);
    }
  }

  /** A command that runs by now. */
  private static Exec startTalking(Engine engine, Box box) throws Exception {
    Exec exec = engine.start(box, ExecSpec.of("sh", "-c", "echo; exec sleep 1000"));
    exec.awaitOutput(0, 0);
    return exec;
  }

  /** Soon: it may be about to close the last of what it was started with. */
  private static void assertHolds(int pid, List<String> expected) throws Exception {
    Optional<Integer> found =
        Eventually.find(
            Eventually.SOON,
            () -> descriptors(pid).equals(expected) ? Optional.of(pid) : Optional.empty());
    // RACE: not once more, for it may be about to execute something, and open its libraries.
    if (found.isEmpty()) {
      assertThat(descriptors(pid)).isEqualTo(expected);
    }
  }

  /**
   * Returns the kind of each descriptor of a process, without details that differ from run to run.
   */
  private static List<String> descriptors(int pid) throws IOException {
    return Kin.descriptors(pid).stream()
        .map(
            target ->
                target.replaceFirst("\\[\\d+]", "").replaceFirst("/(?:.*/)?(cgroup\\..*)", "$1"))
        .sorted()
        .toList();
  }

  /** Some fifty descriptors of the JDK's, which are not close-on-exec. */
  private static final class Strays implements AutoCloseable {
    private final List<Closeable> open = new ArrayList<>();

    Strays() throws IOException {
      for (int i = 0; i < 7; i++) {
        open.add(new RandomAccessFile("/etc/passwd", "r"));
        open.add(FileChannel.open(Path.of("/dev/zero")));
        open.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
        open.add(SocketChannel.open());
        open.add(Selector.open());
        Pipe pipe = Pipe.open();
        open.add(pipe.source());
        open.add(pipe.sink());
      }
    }

    @Override
    public void close() throws IOException {
      for (Closeable each : open) {
        each.close();
      }
    }
  }
}
