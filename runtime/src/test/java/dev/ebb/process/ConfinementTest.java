package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Recorded files of /proc. */
class ConfinementTest {
  private static final String HOST =
      """
      23 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
      27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
      29 23 0:26 / /proc/sys/fs/binfmt_misc rw,relatime shared:13 - autofs systemd-1 rw,fd=29
      30 29 0:44 / /proc/sys/fs/binfmt_misc rw,nosuid shared:20 - binfmt_misc binfmt_misc rw
      31 23 0:45 / /proc/fs/nfsd rw,relatime - nfsd nfsd rw
      32 27 0:46 / /process rw,relatime - tmpfs tmpfs rw
      33 27 0:46 / /mnt/proc/sys rw,relatime - tmpfs tmpfs rw
      """;

  /** Mounts that docker adds by default: read-only paths, hidden files and directories. */
  private static final String DOCKER =
      """
      612 590 0:67 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
      613 612 0:67 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
      614 612 0:67 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
      615 612 0:71 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
      616 612 0:75 / /proc/scsi ro,relatime - tmpfs tmpfs ro
      """;

  @TempDir Path proc;

  @BeforeEach
  void aHostThatAllowsAll() throws IOException {
    write("sys/user/max_user_namespaces", "63304");
    write("self/status", "Name:\tjava\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
    write("self/mountinfo", HOST);
  }

  private void write(String file, String text) throws IOException {
    Path path = proc.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  @Test
  void aPlainHostKeepsUsFromNothing() throws Exception {
    assertThat(Confinement.of(proc, () -> true))
        .isEqualTo(new Confinement(63304, true, false, false, false, List.of()));
  }

  @Test
  void withoutTheSettingTheKernelHasNoUserNamespaces() throws Exception {
    Files.delete(proc.resolve("sys/user/max_user_namespaces"));
    assertThat(Confinement.of(proc, () -> true).userNamespaces()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "sys/user/max_user_namespaces, 0, 0, true, false",
    "sys/kernel/unprivileged_userns_clone, 0, 63304, false, false",
    "sys/kernel/unprivileged_userns_clone, 1, 63304, true, false",
    "sys/kernel/apparmor_restrict_unprivileged_userns, 1, 63304, true, true",
    "sys/kernel/apparmor_restrict_unprivileged_userns, 0, 63304, true, false"
  })
  void eachSettingIsSeen(
      String setting, int value, long namespaces, boolean clone, boolean appArmor)
      throws Exception {
    write(setting, value + "\n");
    assertThat(Confinement.of(proc, () -> true))
        .isEqualTo(new Confinement(namespaces, clone, appArmor, false, false, List.of()));
  }

  @Test
  void aContainerHasAFilterAndMasks() throws Exception {
    write("self/status", "Seccomp:\t2\n");
    write("self/mountinfo", DOCKER);
    assertThat(Confinement.of(proc, () -> true).seccomp()).isTrue();
    assertThat(Confinement.of(proc, () -> true).namespacesFiltered()).isTrue();
    assertThat(Confinement.of(proc, () -> false).namespacesFiltered()).isFalse();
    assertThat(Confinement.of(proc, () -> true).maskedProc())
        .containsExactly("/proc/bus", "/proc/sys", "/proc/kcore", "/proc/scsi");
  }

  /** KERNEL: 1 is the strict mode of old, in which no JVM runs; the count is another line. */
  @ParameterizedTest
  @CsvSource({
    "'Seccomp:\t2', true",
    "'Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3', true",
    "'Seccomp:\t0', false",
    "'Seccomp:\t1', false",
    "'Seccomp:\t0\nSeccomp_filters:\t2', false",
    "'Name:\tSeccomp: 2', false",
    "'', false"
  })
  void onlyTheModeShowsAFilter(String status, boolean filtered) {
    assertThat(Confinement.isFiltered(status)).isEqualTo(filtered);
  }

  @Test
  void usualMountsOfAHostMaskNothing() {
    assertThat(Confinement.masks(HOST)).isEmpty();
    assertThat(Confinement.masks("")).isEmpty();
  }

  @Test
  void oneMaskIsEnough() {
    assertThat(Confinement.masks(HOST + "34 23 0:47 /x /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n"))
        .containsExactly("/proc/cpuinfo");
  }
}
