package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A directory that looks like what /proc and /sys have. */
class PidLimitTest {
  private static final String LIMITS =
      """
      Limit                     Soft Limit           Hard Limit           Units
      Max cpu time              unlimited            unlimited            seconds
      Max processes             %s           127230               processes
      Max open files            1024                 1048576              files
      """;

  @TempDir Path root;

  @BeforeEach
  void aHostOfManyProcesses() throws IOException {
    write("proc/sys/kernel/pid_max", "4194304");
    write("proc/sys/kernel/threads-max", "254461");
    write("proc/self/limits", LIMITS.formatted("127230"));
    write("proc/self/cgroup", "0::/");
  }

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text + "\n");
  }

  private void assertTightest(long max, String file) throws Exception {
    assertThat(PidLimit.tightest(root)).isEqualTo(new PidLimit(max, root.resolve(file).toString()));
  }

  @ParameterizedTest
  @CsvSource({"proc/sys/kernel/pid_max, 32768", "proc/sys/kernel/threads-max, 1000"})
  void aKernelSettingMayBeTheTightest(String file, long max) throws Exception {
    write(file, Long.toString(max));
    assertTightest(max, file);
  }

  @Test
  void ourOwnSoftLimitMayBe() throws Exception {
    assertThat(PidLimit.tightest(root)).isEqualTo(new PidLimit(127230, "RLIMIT_NPROC"));
    write("proc/self/limits", LIMITS.formatted("80"));
    assertThat(PidLimit.tightest(root)).isEqualTo(new PidLimit(80, "RLIMIT_NPROC"));
    write("proc/self/limits", LIMITS.formatted("unlimited"));
    assertTightest(254461, "proc/sys/kernel/threads-max");
  }

  /** By the cgroup file of a process, and where the limit is. */
  @ParameterizedTest
  @CsvSource({
    "0::/user.slice/a, sys/fs/cgroup/user.slice/a/pids.max",
    "0::/user.slice/a, sys/fs/cgroup/user.slice/pids.max",
    "0::/, sys/fs/cgroup/pids.max",
    "'12:pids:/docker/abc\n0::/', sys/fs/cgroup/pids/docker/abc/pids.max",
    "'12:pids:/docker/abc\n0::/', sys/fs/cgroup/pids/pids.max",
    "'5:cpu,cpuacct:/\n4:pids:/a\n1:name=systemd:/b\n0::/b', sys/fs/cgroup/pids/a/pids.max",
    "12:pids:/kubepods.slice:cri-containerd:abc, sys/fs/cgroup/pids/kubepods.slice:cri-containerd:abc/pids.max",
    "0::/../other, sys/fs/cgroup/pids.max"
  })
  void everyCgroupOnOurWayUpHolds(String cgroup, String file) throws Exception {
    write("proc/self/cgroup", cgroup);
    write(file, "300");
    assertTightest(300, file);
  }

  @Test
  void theTightestOnTheWayUpCounts() throws Exception {
    write("proc/self/cgroup", "0::/a/b");
    write("sys/fs/cgroup/a/pids.max", "60");
    write("sys/fs/cgroup/a/b/pids.max", "300");
    assertTightest(60, "sys/fs/cgroup/a/pids.max");
  }

  @Test
  void neitherNoLimitNorThatOfOthersHolds() throws Exception {
    write("proc/self/cgroup", "0::/a/b");
    write("sys/fs/cgroup/a/b/pids.max", "max");
    write("sys/fs/cgroup/a/c/pids.max", "5");
    write("sys/fs/cgroup/a/b/below/pids.max", "5");
    write("sys/fs/pids.max", "5");
    assertThat(PidLimit.tightest(root).source()).isEqualTo("RLIMIT_NPROC");
  }

  @ParameterizedTest
  @CsvSource({"64, 64", "unlimited, 9223372036854775807"})
  void aLimitIsFoundByItsName(String soft, long expected) {
    String text = "Max open files            " + soft + "   1048576   files\n";
    assertThat(
            ProcFs.limit(LIMITS.formatted("1") + text.replace("files", "pipes"), "Max processes"))
        .isOne();
    assertThat(ProcFs.limit(text, "Max open files")).isEqualTo(expected);
  }
}
