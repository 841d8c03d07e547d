package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.LogCapture;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("kernel")
@LeakChecked
@Timeout(60)
class CgroupRemovalKernelTest {
  private static final Duration BOUND = Duration.ofSeconds(2);
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(20));

  /**
   * Sixteen lines of descent, each of which is a new process all the time: a kill by number comes
   * too late. Orphans stay below the first process, which reaps them without looking. Begins with a
   * byte on stdin, and ends with it, or by itself.
   */
  private static final String STORM =
      """
      import ctypes, os, select, signal, time
      signal.signal(signal.SIGCHLD, signal.SIG_IGN)
      ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
      os.write(1, b"!")
      os.read(0, 1)
      end = time.monotonic() + 20
      for _ in range(16):
          if os.fork() == 0:
              while time.monotonic() < end and not select.select([0], [], [], 0)[0]:
                  if os.fork() != 0:
                      os._exit(0)
              os._exit(0)
      os.read(0, 1)
      """;

  private static final String TWO_THREADS =
      """
      import os, signal, threading
      threading.Thread(target=signal.pause, daemon=True).start()
      os.write(1, b"!")
      os.read(0, 1)
      """;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.CGROUPS);

  private final Children children = new Children();
  private RealCgroups real;
  private CgroupRemoval removal;
  private LogCapture log;
  private Cgroup cgroup;

  @BeforeEach
  void create() throws Exception {
    real = new RealCgroups();
    log = new LogCapture(CgroupRemoval.class);
    removal = new CgroupRemoval(real.emptyWait());
    cgroup = real.create("");
  }

  @AfterEach
  void close() throws Exception {
    log.close();
    real.endAll();
    children.close();
    TestHost.awaitOrphans();
    real.close();
  }

  /** Starts a process that Ebb does not know of. */
  private int foreign(Cgroup in) throws Exception {
    int pid = children.sleeper();
    RealCgroups.move(pid, in.path());
    return pid;
  }

  private String warning(Cgroup of) {
    return "WARNING event=cgroup_busy errno=EBUSY path=" + of.path();
  }

  /** Removes it, and returns how long that took. */
  private Duration timeToRemove(Cgroup removed) throws Exception {
    long start = System.nanoTime();
    removal.remove(removed);
    assertThat(removed.path()).doesNotExist();
    return Duration.ofNanos(System.nanoTime() - start);
  }

  @Test
  void anEmptyCgroupIsRemovedInSilence() throws Exception {
    removal.remove(cgroup);
    assertThat(cgroup.path()).doesNotExist();
    assertThat(log.lines()).isEmpty();
    assertThat(removal.leaks()).isZero();
  }

  @Test
  void anAbsentCgroupIsSuccess() throws Exception {
    removal.remove(cgroup);
    removal.remove(cgroup);
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void aForeignProcessIsLoggedCountedAndKilled() throws Exception {
    int pid = foreign(cgroup);
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(log.lines()).containsExactly(warning(cgroup));
    assertThat(removal.leaks()).isEqualTo(1);
  }

  @Test
  void aHundredForeignProcessesAreKilled() throws Exception {
    var pids = new ArrayList<Integer>();
    for (int i = 0; i < 100; i++) {
      pids.add(foreign(cgroup));
    }
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    for (int pid : pids) {
      assertThat(children.awaitSignal(pid)).isEqualTo(9);
    }
    assertThat(log.lines()).containsExactly(warning(cgroup));
  }

  @Test
  void fiftyCgroupsBelowEachOtherGoBottomUp() throws Exception {
    Cgroup deepest = cgroup;
    var pids = new ArrayList<Integer>();
    for (int depth = 1; depth <= 50; depth++) {
      deepest = Cgroup.create(deepest.path().resolve("n" + depth));
      if (depth % 25 == 0) {
        pids.add(foreign(deepest));
      }
    }
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    for (int pid : pids) {
      assertThat(children.awaitSignal(pid)).isEqualTo(9);
    }
    assertThat(log.lines()).containsExactly(warning(cgroup));
    assertThat(removal.leaks()).isEqualTo(1);
  }

  @Test
  void twoHundredCgroupsBesideEachOtherGoToo() throws Exception {
    var pids = new ArrayList<Integer>();
    for (int i = 0; i < 200; i++) {
      Cgroup child = Cgroup.create(cgroup.path().resolve("n" + i));
      if (i % 50 == 0) {
        pids.add(foreign(child));
      }
    }
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    for (int pid : pids) {
      assertThat(children.awaitSignal(pid)).isEqualTo(9);
    }
    assertThat(log.lines()).containsExactly(warning(cgroup));
  }

  /** A process of two threads, one of them in a cgroup of its own. */
  private int threaded(Cgroup child) throws Exception {
    Cgroup.create(child.path());
    Files.writeString(child.path().resolve("cgroup.type"), "threaded");
    int pid = children.python(TWO_THREADS);
    RealCgroups.move(pid, cgroup.path());
    try (var tasks = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
      for (Path task : tasks) {
        String tid = task.getFileName().toString();
        if (!tid.equals(Integer.toString(pid))) {
          Files.writeString(child.path().resolve("cgroup.threads"), tid);
        }
      }
    }
    return pid;
  }

  @Test
  void aThreadedChildGoesWithItsParent() throws Exception {
    int pid = threaded(cgroup.child("threaded"));
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(log.lines()).containsExactly(warning(cgroup));
  }

  @Test
  void aThreadedCgroupIsRemovedByItself() throws Exception {
    Cgroup child = cgroup.child("threaded");
    int pid = threaded(child);
    assertThat(child.procs()).containsExactly(pid);
    assertThat(cgroup.allProcs()).as("each once").containsExactly(pid);
    assertThat(timeToRemove(child)).isLessThan(SOON);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(cgroup.path()).exists();
  }

  @Test
  void aForkStormIsEndedAtOnce() throws Exception {
    stormIn(cgroup);
    assertThat(timeToRemove(cgroup)).isLessThan(SOON);
    assertThat(log.lines()).containsExactly(warning(cgroup));
  }

  @Test
  void withoutCgroupKillAForkStormIsFrozenAndKilledOneByOne() throws Exception {
    int first = stormIn(cgroup);
    cgroup.killEach();
    assertThat(children.awaitSignal(first)).isEqualTo(9);
    assertThat(cgroup.allProcs()).isEmpty();
    assertThat(Files.readString(cgroup.path().resolve("cgroup.freeze"))).isEqualTo("0\n");
    removal.remove(cgroup);
    assertThat(log.lines()).isEmpty();
  }

  private int stormIn(Cgroup in) throws Exception {
    int first = children.python(STORM);
    RealCgroups.move(first, in.path());
    children.nudge(first);
    Awaitility.await().until(() -> in.procs().size() > 16);
    return first;
  }

  // --- version 1 ---

  @Test
  void aBusyCgroupOfVersion1IsEndedToo() throws Exception {
    Cgroup pids = real.createVersion1("pids", "");
    int pid = foreign(pids);
    assertThat(timeToRemove(pids)).isLessThan(SOON);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(log.lines()).containsExactly(warning(pids));
  }

  private int frozen(Cgroup freezer) throws Exception {
    int pid = foreign(freezer);
    Files.writeString(freezer.path().resolve("freezer.state"), "FROZEN");
    Awaitility.await()
        .until(() -> Files.readString(freezer.path().resolve("freezer.state")).equals("FROZEN\n"));
    return pid;
  }

  @Test
  void aFrozenCgroupOfVersion1IsThawedAndEnded() throws Exception {
    Cgroup freezer = real.createVersion1("freezer", "");
    Cgroup below = real.createVersion1("freezer", "below");
    int upper = frozen(freezer);
    int lower = frozen(below);
    assertThat(timeToRemove(freezer)).isLessThan(SOON);
    assertThat(children.awaitSignal(upper)).isEqualTo(9);
    assertThat(children.awaitSignal(lower)).isEqualTo(9);
  }

  @Test
  void aMemberThatCannotDieIsGivenUpAfterTwoSeconds() throws Exception {
    int pid = frozen(real.createVersion1("freezer", ""));
    RealCgroups.move(pid, cgroup.path());
    long start = System.nanoTime();
    assertThatThrownBy(() -> removal.remove(cgroup))
        .hasMessage("cannot remove " + cgroup.path() + ": EBUSY");
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isGreaterThanOrEqualTo(BOUND.minusMillis(100));
    assertThat(Children.isZombie(pid)).isFalse();
    assertThat(log.lines()).containsExactly(warning(cgroup));
  }

  @Test
  void waitingForAProcessThatCannotDieEndsWithAnInterrupt() throws Exception {
    int pid = frozen(real.createVersion1("freezer", ""));
    RealCgroups.move(pid, cgroup.path());
    var outcome = new CompletableFuture<Errno>();
    var flag = new CompletableFuture<Boolean>();
    Thread remover =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    removal.remove(cgroup);
                  } catch (KernelException e) {
                    flag.complete(Thread.currentThread().isInterrupted());
                    outcome.complete(e.errno());
                  }
                });
    Awaitility.await().until(() -> !log.lines().isEmpty());
    remover.interrupt();
    assertThat(outcome.get(10, TimeUnit.SECONDS)).isEqualTo(Errno.EINTR);
    assertThat(flag.get(10, TimeUnit.SECONDS)).isTrue();
    remover.join();
    assertThat(cgroup.path()).exists();
  }
}
