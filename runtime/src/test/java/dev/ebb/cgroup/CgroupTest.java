package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.FakeCgroupFs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class CgroupTest {
  private FakeCgroupFs fake;
  private Cgroup cgroup;
  private final Children children = new Children();
  @TempDir Path root;

  @BeforeEach
  void create() throws Exception {
    fake = FakeCgroupFs.v2(root);
    cgroup = new Cgroup(fake.create("ebb-1"));
  }

  @AfterEach
  void close() throws Exception {
    children.close();
  }

  private String read(String file) throws Exception {
    return fake.read(cgroup.path(), file);
  }

  @Test
  void childrenComeBeforeTheirParents() throws Exception {
    fake.create("ebb-1/a/b");
    fake.create("ebb-1/c");
    var order = cgroup.bottomUp().stream().map(each -> root.relativize(each.path())).toList();
    assertThat(order)
        .hasSize(4)
        .containsSubsequence(Path.of("unified/ebb-1/a/b"), Path.of("unified/ebb-1/a"))
        .endsWith(Path.of("unified/ebb-1"));
  }

  @Test
  void anAbsentCgroupHasNoMembersAndNoChildren() throws Exception {
    var absent = new Cgroup(root.resolve("absent"));
    assertThat(absent.exists()).isFalse();
    assertThat(absent.bottomUp()).isEmpty();
    assertThat(absent.allProcs()).isEmpty();
    absent.kill();
  }

  @Test
  void unreadableMembersAreAnErrorAndNotAnEmptyCgroup() throws Exception {
    Files.delete(cgroup.path().resolve("cgroup.procs"));
    Files.createDirectory(cgroup.path().resolve("cgroup.procs"));
    assertThatThrownBy(cgroup::procs).hasMessageEndingWith("EISDIR");
    assertThatThrownBy(cgroup::allProcs).hasMessageEndingWith("EISDIR");
    fake.withdraw("cgroup.kill");
    assertThatThrownBy(cgroup::kill).hasMessageEndingWith("EISDIR");
  }

  @Test
  void populatedIsWhatTheKernelSaysAndNothingElse() throws Exception {
    assertThat(cgroup.isPopulated()).isFalse();
    fake.populate("ebb-1", 1);
    assertThat(cgroup.isPopulated()).isTrue();
    fake.write(cgroup.path(), "cgroup.events", "frozen 0\n");
    assertThatThrownBy(cgroup::isPopulated)
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENODATA));
    fake.write(cgroup.path(), "cgroup.events", "");
    assertThatThrownBy(cgroup::isPopulated).isInstanceOf(KernelException.class);
  }

  @Test
  void killingIsOneWriteWhereTheKernelCan() throws Exception {
    cgroup.kill();
    assertThat(read("cgroup.kill")).isEqualTo("1");
    assertThat(read("cgroup.freeze")).isEmpty();
  }

  @Test
  void withoutCgroupKillMembersAreFrozenKilledAndThawed() throws Exception {
    fake.withdraw("cgroup.kill");
    int pid = children.sleeper();
    fake.populate("ebb-1", pid);
    children.whenDead(pid, () -> fake.populate("ebb-1"));
    cgroup.kill();
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(read("cgroup.freeze")).isEqualTo("0");
  }

  @Test
  void anInterruptedThreadStillKillsOnce() throws Exception {
    fake.withdraw("cgroup.kill");
    int pid = children.sleeper();
    fake.populate("ebb-1", pid);
    Thread.currentThread().interrupt();
    cgroup.kill();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
  }

  @Test
  void aFrozenCgroupIsThawedThoughTheKillFailed() throws Exception {
    fake.withdraw("cgroup.kill");
    fake.write(cgroup.path(), "cgroup.procs", "not a number\n");
    assertThatThrownBy(cgroup::kill).isInstanceOf(NumberFormatException.class);
    assertThat(read("cgroup.freeze")).isEqualTo("0");
  }

  @Test
  void aThreadedCgroupHasTheProcessesOfItsThreads() throws Exception {
    // The fake cannot answer EOPNOTSUPP; the kernel test shows that. Here: which file is asked.
    fake.write(cgroup.path(), "cgroup.threads", "1\n");
    assertThat(cgroup.procsOfThreads()).isEqualTo(List.of(1));
    fake.write(cgroup.path(), "cgroup.threads", "4194305\n");
    assertThat(cgroup.procsOfThreads()).isEmpty();
  }
}
