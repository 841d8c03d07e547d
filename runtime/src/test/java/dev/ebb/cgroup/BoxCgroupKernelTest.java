package dev.ebb.cgroup;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CgroupUsage;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.LogCapture;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("kernel")
@LeakChecked
@Timeout(60)
class BoxCgroupKernelTest {
  private static final int UID = 0x7fff_ff00;

  /** Never waits for anything, and ends with us. */
  private static final String BUSY =
      """
      import os, sys, threading
      threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()
      print(flush=True)
      while True: pass
      """;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.CGROUPS);

  private final Children children = new Children();
  private RealCgroups real;
  private CgroupRemoval removal;
  private LogCapture log;
  private BoxCgroup box;

  @BeforeEach
  void create() throws Exception {
    real = new RealCgroups();
    log = new LogCapture(CgroupRemoval.class);
    removal = new CgroupRemoval(real.emptyWait());
    for (Path path : real.hierarchies().everywhere(real.name())) {
      Cgroup.create(path);
    }
    real.hierarchies().delegate(real.name());
    box = new BoxCgroup(real.hierarchies(), real.name() + "/box", real.emptyWait(), removal);
    box.create(new CgroupLimits(ByteSize.mebibytes(64), 10, 0.5), UID);
  }

  @AfterEach
  void close() throws Exception {
    log.close();
    real.endAll();
    children.close();
    real.close();
  }

  private Cgroup leaf() throws KernelException {
    return new Cgroup(box.leaves().create(1, UID).orElseThrow());
  }

  private static boolean awaitEmpty(BoxCgroup box) throws Exception {
    return box.awaitEmpty(Deadline.in(Duration.ofSeconds(10)));
  }

  @Test
  void aBoxCgroupIsInEveryHierarchyAndRemovedSilently() throws Exception {
    assertThat(box.paths()).allMatch(Files::isDirectory);
    assertThat(box.procs()).isEmpty();
    box.leaves().create(1, UID);
    assertThat(box.remove()).isEqualTo(box.paths().size());
    assertThat(box.paths()).noneMatch(Files::exists);
    assertThat(box.remove()).isZero();
    assertThat(log.lines()).isEmpty();
    assertThat(removal.leaks()).isZero();
  }

  @Test
  void theSameBoxIsNotMadeTwice() {
    assertThatThrownBy(() -> box.create(new CgroupLimits(ByteSize.mebibytes(64), 10, 1), UID))
        .hasMessageEndingWith("EEXIST");
  }

  @Test
  void theKernelTakesTheLimits() throws Exception {
    if (real.hierarchies().mode() == CgroupMode.V2) {
      assertThat(version2("work/memory.max")).isEqualTo("67108864");
      assertThat(version2("memory.max")).as("and init's").isEqualTo("83886080");
      assertThat(version2("work/pids.max")).isEqualTo("10");
      assertThat(version2("pids.max")).as("and init's").isEqualTo("18");
      assertThat(version2("work/cpu.max")).isEqualTo("50000 100000");
      return;
    }
    assertThat(version1("memory", "memory.limit_in_bytes")).isEqualTo("67108864");
    assertThat(version1("pids", "pids.max")).isEqualTo("11");
    assertThat(version1("cpu", "cpu.cfs_quota_us")).isEqualTo("50000");
  }

  private String version2(String file) throws Exception {
    return Files.readString(box.box().path().resolve(file)).strip();
  }

  private String version1(String controller, String file) throws Exception {
    Path root = requireNonNull(real.hierarchies().version1().get(controller));
    return Files.readString(root.resolve(real.name()).resolve("box").resolve(file)).strip();
  }

  @Test
  void theBoxsUserMayCloneIntoALeafAndKillIt() throws Exception {
    Cgroup leaf = leaf();
    assertThat(Files.getAttribute(leaf.path().resolve("cgroup.procs"), "unix:uid")).isEqualTo(UID);
    assertThat(Files.getAttribute(leaf.path().resolve("cgroup.kill"), "unix:uid")).isEqualTo(UID);
    assertThat(Files.getAttribute(box.box().path().resolve("cgroup.procs"), "unix:uid"))
        .isEqualTo(UID);
    assertThat(Files.getAttribute(box.box().path().resolve("cgroup.kill"), "unix:uid"))
        .as("but not the box")
        .isEqualTo(0);
    box.leaves().remove(1);
    assertThat(leaf.path()).doesNotExist();
  }

  @Test
  void killingEndsEveryMember() throws Exception {
    int init = children.sleeper();
    int command = children.sleeper();
    RealCgroups.move(init, box.init().path());
    RealCgroups.move(command, leaf().path());
    assertThat(box.procs()).containsExactlyInAnyOrder(init, command);
    assertThat(box.awaitEmpty(Deadline.in(Duration.ofMillis(5)))).isFalse();
    box.kill();
    assertThat(awaitEmpty(box)).isTrue();
    assertThat(children.awaitSignal(init)).isEqualTo(9);
    assertThat(children.awaitSignal(command)).isEqualTo(9);
    box.remove();
    assertThat(log.lines()).isEmpty();
    assertThat(awaitEmpty(box)).as("absent is empty").isTrue();
    box.kill();
  }

  @Test
  void aBoxFrozenInVersion1IsThawedBeforeItIsKilled() throws Exception {
    Path root = real.hierarchies().version1().get("freezer");
    Assumptions.assumeTrue(root != null, "host lacks the v1 freezer");
    Path freezer = root.resolve(real.name()).resolve("box");
    int pid = children.sleeper();
    RealCgroups.move(pid, leaf().path());
    RealCgroups.move(pid, freezer);
    Files.writeString(freezer.resolve("freezer.state"), "FROZEN");
    Awaitility.await()
        .until(() -> Files.readString(freezer.resolve("freezer.state")).equals("FROZEN\n"));
    box.kill();
    assertThat(awaitEmpty(box)).isTrue();
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    box.remove();
    assertThat(log.lines()).isEmpty();
    assertThat(box.paths()).noneMatch(Files::exists);
  }

  @Test
  void foreignProcessesAndCgroupsInEveryHierarchyAreEndedAndRemoved() throws Exception {
    int inBox = children.sleeper();
    Cgroup nested = Cgroup.create(leaf().path().resolve("nested"));
    RealCgroups.move(inBox, nested.path());
    int inVersion1 = children.sleeper();
    for (Path path : box.paths().subList(1, box.paths().size())) {
      RealCgroups.move(inVersion1, path);
    }
    box.remove();
    assertThat(box.paths()).noneMatch(Files::exists);
    assertThat(children.awaitSignal(inBox)).isEqualTo(9);
    if (box.paths().size() > 1) {
      assertThat(children.awaitSignal(inVersion1)).isEqualTo(9);
    }
    assertThat(log.lines()).hasSize((int) removal.leaks()).isNotEmpty();
  }

  @Test
  void aThreadedCgroupInABoxDoesNotStopItsRemoval() throws Exception {
    Cgroup leaf = leaf();
    Cgroup threaded = Cgroup.create(leaf.path().resolve("threaded"));
    Files.writeString(threaded.path().resolve("cgroup.type"), "threaded");
    int pid = children.sleeper();
    RealCgroups.move(pid, leaf.path());
    Files.writeString(threaded.path().resolve("cgroup.threads"), Integer.toString(pid));
    box.remove();
    assertThat(box.paths()).noneMatch(Files::exists);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
  }

  @Test
  void usageIsReadFromTheRunningKernel() throws Exception {
    int pid = children.sleeper();
    RealCgroups.move(pid, leaf().path());
    CgroupUsage usage = box.accounting().usage().orElseThrow();
    assertThat(usage.oomKills()).isZero();
    assertThat(usage.pidsRefused()).isZero();
    assertThat(usage.cpu()).isGreaterThanOrEqualTo(Duration.ZERO);
  }

  @Test
  void pressureIsReadFromTheRunningKernel() throws Exception {
    Assumptions.assumeTrue(Files.exists(Path.of("/proc/pressure/cpu")), "host lacks PSI");
    assertThat(box.accounting().pressure().orElseThrow().cpu().total()).isZero();
    Cgroup leaf = leaf();
    // Two of them want more than the half of a processor that the box has.
    RealCgroups.move(children.python(BUSY), leaf.path());
    RealCgroups.move(children.python(BUSY), leaf.path());
    Awaitility.await()
        .atMost(TestHost.patience(Duration.ofSeconds(20)))
        .untilAsserted(
            () -> assertThat(box.accounting().pressure().orElseThrow().cpu().total()).isPositive());
  }

  @Test
  void aBoxThatCannotBeMadeInOneHierarchyIsRefused() throws Exception {
    var half = new BoxCgroup(real.hierarchies(), real.name() + "/half", real.emptyWait(), removal);
    Path last = half.paths().getLast();
    Files.createDirectory(last);
    assertThatThrownBy(() -> half.create(new CgroupLimits(ByteSize.mebibytes(64), 10, 1), UID))
        .isInstanceOf(KernelException.class)
        .hasMessageContaining(last.toString());
    half.remove();
    assertThat(half.paths()).noneMatch(Files::exists);
  }
}
