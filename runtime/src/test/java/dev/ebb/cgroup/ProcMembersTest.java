package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProcMembersTest {
  private static final String MOUNTS =
      """
      27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
      30 27 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw
      31 30 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
      32 30 0:32 /../outer /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
      33 31 0:33 /x/cgroup.kill /sys/fs/cgroup/unified/ebb-1/cgroup.kill ro - cgroup2 cgroup2 rw
      """;

  @Test
  void aCgroupIsNamedAsProcNamesIt() {
    assertThat(ProcMembers.of(MOUNTS, Path.of("/sys/fs/cgroup/unified/ebb-1/b1")))
        .contains(new ProcMembers(List.of(), "/ebb-1/b1"));
    assertThat(ProcMembers.of(MOUNTS, Path.of("/sys/fs/cgroup/cpu,cpuacct/ebb-1")))
        .contains(new ProcMembers(List.of("rw", "cpu", "cpuacct"), "/../outer/ebb-1"));
  }

  @Test
  void theRootOfAHierarchyIsNeverListed() {
    assertThat(ProcMembers.of(MOUNTS, Path.of("/sys/fs/cgroup/unified"))).isEmpty();
  }

  @Test
  void aPlainDirectoryHasNoMembers() {
    assertThat(ProcMembers.of(MOUNTS, Path.of("/sys/fs/cgroup/other/ebb-1"))).isEmpty();
    assertThat(ProcMembers.of(MOUNTS, Path.of("/tmp/ebb-1"))).isEmpty();
  }
}
