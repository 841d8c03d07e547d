package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Occupancy;
import dev.ebb.model.StallTimes;
import dev.ebb.testkit.FakeCgroupFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files get which values, in a directory that looks like a cgroup file system. */
class BoxCgroupTest {
  private static final String NAME = "ebb-1/box";
  private static final CgroupLimits LIMITS = new CgroupLimits(ByteSize.mebibytes(64), 10, 1.5);
  private static final EmptyWait NEVER_ASKED =
      (cgroup, deadline) -> {
        throw new AssertionError("asked for " + cgroup);
      };

  @TempDir Path root;

  private static BoxCgroup box(FakeCgroupFs fake) throws IOException {
    return new BoxCgroup(
        Hierarchies.detect(fake.mountinfo(), new Hierarchies.Place("/", 0, true, List.of())),
        NAME,
        NEVER_ASKED,
        new CgroupRemoval(NEVER_ASKED));
  }

  @Nested
  class Version2 {
    private FakeCgroupFs fake;
    private BoxCgroup cgroup;
    private Path box;
    private Path work;

    @BeforeEach
    void create() throws IOException {
      fake = FakeCgroupFs.v2(root);
      box = fake.create(NAME);
      fake.create(NAME + "/init");
      work = fake.create(NAME + "/work");
      cgroup = box(fake);
    }

    @Test
    void theWorkHasTheLimitsAndTheBoxALittleMore() throws Exception {
      cgroup.configure(LIMITS, Self.uid());
      assertThat(fake.read(work, "memory.max")).isEqualTo("67108864");
      assertThat(fake.read(work, "pids.max")).isEqualTo("10");
      assertThat(fake.read(work, "cpu.max")).isEqualTo("150000 100000");
      assertThat(fake.read(box, "memory.max")).isEqualTo("83886080");
      assertThat(fake.read(box, "pids.max")).isEqualTo("18");
      assertThat(fake.read(box, "cpu.max")).isEqualTo("150000 100000");
    }

    @Test
    void nothingIsSwapped() throws Exception {
      cgroup.configure(LIMITS, Self.uid());
      assertThat(fake.read(work, "memory.swap.max")).isEqualTo("0");
      assertThat(fake.read(box, "memory.swap.max")).isEqualTo("0");
      fake.withdraw("memory.swap.max");
      cgroup.configure(LIMITS, Self.uid());
    }

    @Test
    void initHasNoLimitOfItsOwn() throws Exception {
      cgroup.configure(LIMITS, Self.uid());
      assertThat(fake.read(cgroup.init().path(), "pids.max")).isEmpty();
      assertThat(fake.read(cgroup.init().path(), "cgroup.subtree_control")).isEmpty();
    }

    @Test
    void controllersAreHandedDownFromTheTop() throws Exception {
      cgroup.configure(LIMITS, Self.uid());
      assertThat(fake.read(box, "cgroup.subtree_control")).isEqualTo("+cpu +memory +pids");
      assertThat(fake.read(work, "cgroup.subtree_control")).isEqualTo("+cpu +memory +pids");
    }

    @Test
    void controllersThatTheBoxDoesNotDelegateAreNotGivenBelow() throws Exception {
      Files.delete(box.resolve("cgroup.subtree_control"));
      assertThatThrownBy(() -> cgroup.configure(LIMITS, Self.uid()))
          .hasMessageContaining(box + "/cgroup.subtree_control")
          .hasMessageEndingWith("ENOENT");
      assertThat(fake.read(work, "cgroup.subtree_control")).isEmpty();
      assertThat(fake.read(work, "memory.max")).isEmpty();
    }

    @Test
    void aLimitThatCannotBeSetIsAnErrorWithItsValue() throws Exception {
      Files.delete(work.resolve("pids.max"));
      Files.createSymbolicLink(work.resolve("pids.max"), Path.of("/dev/full"));
      assertThatThrownBy(() -> cgroup.configure(LIMITS, Self.uid()))
          .hasMessage("cannot write \"10\" to " + work.resolve("pids.max") + ": ENOSPC");
    }

    @Test
    void theLargestMemoryDoesNotOverflow() throws Exception {
      var limits = new CgroupLimits(new ByteSize(Long.MAX_VALUE), 1, 1);
      cgroup.configure(limits, Self.uid());
      assertThat(fake.read(box, "memory.max")).isEqualTo(Long.toString(Long.MAX_VALUE));
    }

    @Test
    void theLeastCpuIsWhatTheKernelTakes() throws Exception {
      cgroup.configure(new CgroupLimits(ByteSize.mebibytes(64), 1, 0.001), Self.uid());
      assertThat(fake.read(work, "cpu.max")).isEqualTo("1000 100000");
    }

    @Test
    void aVictimOfTheOomKillerTakesItsExecAlong() throws Exception {
      Path leaf = fake.create(NAME + "/work/7");
      ((CgroupLeaves) cgroup.leaves()).configure(cgroup.leaf(7), Self.uid());
      assertThat(fake.read(leaf, "memory.oom.group")).isEqualTo("1");
      fake.withdraw("memory.oom.group");
      fake.withdraw("cgroup.kill");
      ((CgroupLeaves) cgroup.leaves()).configure(cgroup.leaf(7), Self.uid());
      try (var scope = new Scope()) {
        assertThat(cgroup.accounting().oomEvents(scope)).isEmpty();
      }
    }

    @Test
    void usageIsThatOfTheWork() throws Exception {
      fake.write(work, "cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n");
      fake.write(work, "memory.peak", "4096\n");
      fake.write(work, "memory.events", "oom 3\noom_kill 2\noom_group_kill 1\n");
      fake.write(work, "pids.peak", "5\n");
      fake.write(work, "pids.events", "max 4\n");
      assertThat(cgroup.accounting().usage().orElseThrow())
          .isEqualTo(new CgroupUsage(Duration.ofNanos(1_500_000), 4096, 5, 2, 4));
    }

    @Test
    void occupancyIsThatOfTheWork() throws Exception {
      fake.write(work, "memory.current", "4096\n");
      fake.write(work, "pids.current", "5\n");
      assertThat(cgroup.accounting().occupancy()).contains(new Occupancy(4096, 5));
    }

    /** Behaves like Linux before 6.11. */
    @Test
    void forksRefusedInLeavesCountToo() throws Exception {
      fake.write(fake.create(NAME + "/work/1"), "pids.events", "max 3\n");
      fake.write(fake.create(NAME + "/work/2"), "pids.events", "max 4\n");
      assertThat(cgroup.accounting().usage().orElseThrow().pidsRefused()).isEqualTo(7);
    }

    @Test
    void aKernelThatDoesNotCountPeaksSaysNothing() throws Exception {
      fake.withdraw("memory.peak");
      fake.withdraw("pids.peak");
      fake.withdraw("pids.events");
      assertThat(cgroup.accounting().usage().orElseThrow()).isEqualTo(CgroupUsage.NONE);
    }

    @Test
    void killingKillsTheBox() throws Exception {
      cgroup.kill();
      assertThat(fake.read(box, "cgroup.kill")).isEqualTo("1");
    }

    @Test
    void theProcessesAreThoseOfAllBelow() throws Exception {
      fake.create(NAME + "/work/1");
      fake.populate(NAME + "/init", 101);
      fake.populate(NAME + "/work/1", 102, 103);
      assertThat(cgroup.procs()).containsExactlyInAnyOrder(101, 102, 103);
    }
  }

  @Nested
  class Hybrid {
    private FakeCgroupFs fake;
    private BoxCgroup cgroup;
    private Path box;

    @BeforeEach
    void create() throws IOException {
      fake = FakeCgroupFs.hybrid(root);
      box = fake.create(NAME);
      fake.create(NAME + "/work");
      cgroup = box(fake);
    }

    private Path version1(String controller) {
      return fake.version1(controller).resolve(NAME);
    }

    @Test
    void limitsHoldForTheBoxAsAWholeInVersion1() throws Exception {
      cgroup.configure(LIMITS, Self.uid());
      assertThat(fake.read(version1("memory"), "memory.limit_in_bytes")).isEqualTo("67108864");
      assertThat(fake.read(version1("memory"), "memory.memsw.limit_in_bytes"))
          .isEqualTo("67108864");
      assertThat(fake.read(version1("pids"), "pids.max")).as("with init").isEqualTo("11");
      assertThat(fake.read(version1("cpu"), "cpu.cfs_quota_us")).isEqualTo("150000");
      assertThat(fake.read(box, "cgroup.subtree_control")).isEmpty();
    }

    @Test
    void aKernelWithoutSwapAccountingIsNoError() throws Exception {
      fake.withdraw("memory.memsw.limit_in_bytes");
      cgroup.configure(LIMITS, Self.uid());
    }

    @Test
    void initIsToJoinEveryVersion1Hierarchy() {
      assertThat(cgroup.placement().tasks())
          .containsExactlyElementsOf(
              List.of("cpu", "freezer", "memory", "pids").stream()
                  .map(controller -> version1(controller).resolve("tasks"))
                  .toList());
    }

    @Test
    void killingThawsVersion1First() throws Exception {
      cgroup.kill();
      assertThat(fake.read(version1("freezer"), "freezer.state")).isEqualTo("THAWED");
      assertThat(fake.read(box, "cgroup.kill")).isEqualTo("1");
    }

    @Test
    void aCgroupThatCannotBeThawedIsKilledAndReported() throws Exception {
      Path state = version1("freezer").resolve("freezer.state");
      Files.delete(state);
      Files.createDirectory(state);
      assertThatThrownBy(cgroup::kill).hasMessageContaining("EISDIR");
      assertThat(fake.read(box, "cgroup.kill")).isEqualTo("1");
    }

    @Test
    void usageLeavesInitOut() throws Exception {
      fake.write(version1("memory"), "memory.max_usage_in_bytes", "8192\n");
      fake.write(version1("memory"), "memory.oom_control", "under_oom 0\noom_kill 3\n");
      fake.write(version1("pids"), "pids.peak", "4\n");
      fake.write(version1("pids"), "pids.events", "max 2\n");
      assertThat(cgroup.accounting().usage().orElseThrow())
          .isEqualTo(new CgroupUsage(Duration.ZERO, 8192, 3, 3, 2));
    }

    @Test
    void pressureIsWhatSomeOfTheWorkWaitedFor() throws Exception {
      Path work = box.resolve("work");
      String full = "full avg10=9.00 avg60=9.00 avg300=9.00 total=9000000\n";
      fake.write(
          work, "cpu.pressure", "some avg10=1.50 avg60=2.00 avg300=3.00 total=4000\n" + full);
      fake.write(
          work, "memory.pressure", "some avg10=0.00 avg60=0.0 avg300=0.0 total=7000\n" + full);
      assertThat(cgroup.accounting().pressure()).isEmpty();
      fake.write(work, "io.pressure", "some avg10=0.25 avg60=0.00 avg300=0.00 total=1500\n" + full);
      assertThat(cgroup.accounting().pressure())
          .contains(
              new StallTimes(
                  new StallTimes.Stall(1.5, Duration.ofMillis(4)),
                  new StallTimes.Stall(0, Duration.ofMillis(7)),
                  new StallTimes.Stall(0.25, Duration.ofNanos(1_500_000))));
    }

    @Test
    void occupancyLeavesInitOut() throws Exception {
      fake.write(version1("memory"), "memory.usage_in_bytes", "8192\n");
      fake.write(version1("pids"), "pids.current", "4\n");
      assertThat(cgroup.accounting().occupancy()).contains(new Occupancy(8192, 3));
    }
  }
}
