package dev.ebb.admission;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.FakeCgroupFs;
import dev.ebb.testkit.FakeClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On directories that look like what /proc and /sys have. */
class GaugesTest {
  private static final String LIMITS =
      """
      Limit                     Soft Limit           Hard Limit           Units
      Max processes             127230               127230               processes
      Max open files            %s                   1048576              files
      """;

  private static final long GIB = 1L << 30;

  @TempDir Path root;

  @BeforeEach
  void aHostWithPlentyOfEverything() throws IOException {
    write("proc/sys/kernel/pid_max", "4194304");
    write("proc/sys/kernel/threads-max", "254461");
    write("proc/sys/fs/file-nr", "592\t0\t2465610");
    write("proc/sys/fs/mount-max", "100000");
    write("proc/self/limits", LIMITS.formatted("20000"));
    write("proc/self/cgroup", "0::/");
    write("proc/self/status", "Name:\tjava\nThreads:\t19");
    write(
        "proc/self/mountinfo",
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:1 / /proc rw - proc proc rw");
    write("proc/loadavg", "2.47 2.68 1.88 4/101 21872");
    write("proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1 kB\nMemAvailable: 786432 kB");
    Files.createDirectories(root.resolve("proc/self/fd"));
  }

  private void write(String file, String text) throws IOException {
    write(root.resolve(file), text);
  }

  private static void write(Path path, String text) throws IOException {
    Files.createDirectories(path.getParent());
    Files.writeString(path, text + "\n");
  }

  /** Moves us into a cgroup below the unified hierarchy. */
  private Path ownCgroup() throws IOException {
    write("proc/self/cgroup", "0::/ebb");
    return FakeCgroupFs.v2(root.resolve("sys/fs/cgroup")).create("ebb");
  }

  private Gauges gauges() {
    return new Gauges(root, root, Thresholds.DEFAULT, new FakeClock(Instant.EPOCH));
  }

  private Reading read(Resource resource) throws Exception {
    return gauges().read().of(resource);
  }

  private void assertReads(Resource resource, long use, long limit, Path source) throws Exception {
    Reading reading = read(resource);
    assertThat(reading.use()).isEqualTo(use);
    assertThat(reading.limit()).isEqualTo(limit);
    assertThat(reading.source()).isEqualTo(source.toString());
    assertThat(reading.percent()).isEqualTo(100.0 * use / limit);
  }

  // --- processes ---

  @Test
  void processesAreCountedAgainstTheKernelWhereThereIsNoCgroup() throws Exception {
    assertReads(Resource.PIDS, 101, 254461, root.resolve("proc/sys/kernel/threads-max"));
  }

  @Test
  void theNearestLimitCountsNotTheSmallest() throws Exception {
    var cgroups = FakeCgroupFs.v2(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "0::/pod/ebb");
    Path inner = cgroups.create("pod/ebb");
    Path outer = cgroups.unified().resolve("pod");
    write(inner.resolve("pids.max"), "300");
    write(inner.resolve("pids.current"), "30");
    write(outer.resolve("pids.max"), "1000");
    write(outer.resolve("pids.current"), "850");
    assertReads(Resource.PIDS, 850, 1000, outer.resolve("pids.max"));
    assertThat(read(Resource.PIDS).level()).isEqualTo(PressureLevel.ALERT);
  }

  @Test
  void aHierarchyOfVersion1CountsToo() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "8:pids:/docker/abc\n0::/docker/abc");
    cgroups.create("docker/abc");
    Path own = cgroups.version1("pids").resolve("docker/abc");
    write(own.resolve("pids.max"), "300");
    write(own.resolve("pids.current"), "290");
    assertReads(Resource.PIDS, 290, 300, own.resolve("pids.max"));
    assertThat(read(Resource.PIDS).level()).isEqualTo(PressureLevel.FULL);
  }

  @Test
  void aCgroupOfAnotherHierarchyIsNotOurs() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "9:memory:/other\n8:pids:/\n0::/");
    cgroups.create("other");
    Path other = cgroups.version1("pids").resolve("other");
    write(other.resolve("pids.max"), "10");
    write(other.resolve("pids.current"), "10");
    assertThat(read(Resource.PIDS).level()).isEqualTo(PressureLevel.OK);
  }

  @Test
  void ourThreadsAreCountedAgainstTheSameLimits() throws Exception {
    assertReads(Resource.THREADS, 19, 127230, Path.of("RLIMIT_NPROC"));
  }

  // --- descriptors ---

  @Test
  void descriptorsAreCountedByKind() throws Exception {
    Files.writeString(root.resolve("file"), "");
    var targets =
        Map.of(
            0, "socket:[1]",
            1, "pipe:[2]",
            2, "anon_inode:[pidfd]",
            3, "pidfd:[77]",
            4, "anon_inode:[eventfd]",
            5, "anon_inode:[eventpoll]",
            6, "anon_inode:inotify",
            7, root.resolve("file").toString(),
            8, "/tmp/x (deleted)",
            9, "/dev/null");
    for (var each : targets.entrySet()) {
      Path link = root.resolve("proc/self/fd/" + each.getKey());
      Files.createSymbolicLink(link, Path.of(each.getValue()));
    }
    write("proc/self/limits", LIMITS.formatted("16"));
    Readings readings = gauges().read();
    assertThat(readings.descriptors())
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                DescriptorKind.SOCKET, 1,
                DescriptorKind.PIPE, 1,
                DescriptorKind.PIDFD, 2,
                DescriptorKind.EVENTFD, 1,
                DescriptorKind.EPOLL, 1,
                DescriptorKind.INOTIFY, 1,
                DescriptorKind.REGULAR, 1,
                DescriptorKind.DELETED, 1,
                DescriptorKind.OTHER, 1));
    assertReads(Resource.DESCRIPTORS, 10, 16, Path.of("RLIMIT_NOFILE"));
    assertThat(readings.worst().resource()).isEqualTo(Resource.DESCRIPTORS);
  }

  @Test
  void theHostMayRunOutOfDescriptorsBeforeWeDo() throws Exception {
    write("proc/sys/fs/file-nr", "990\t0\t1000");
    assertReads(Resource.DESCRIPTORS, 990, 1000, root.resolve("proc/sys/fs/file-nr"));
  }

  // --- memory ---

  @Test
  void memoryIsTheHostsWhereNoCgroupIsNearer() throws Exception {
    assertReads(Resource.MEMORY, GIB / 4, GIB, root.resolve("proc/meminfo"));
  }

  @Test
  void memoryOfCachedFilesIsNotUsed() throws Exception {
    Path own = ownCgroup();
    write(own.resolve("memory.max"), "1000000");
    write(own.resolve("memory.current"), "990000");
    write(own.resolve("memory.stat"), "anon 1\ninactive_file 100000\nactive_file 40000");
    assertReads(Resource.MEMORY, 850_000, 1_000_000, own.resolve("memory.max"));
    assertThat(read(Resource.MEMORY).level()).isEqualTo(PressureLevel.ALERT);
  }

  @Test
  void memoryOfVersion1CountsWithAllBelow() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "4:memory:/ebb\n0::/");
    cgroups.create("ebb");
    Path own = cgroups.version1("memory").resolve("ebb");
    write(own.resolve("memory.limit_in_bytes"), "1000");
    write(own.resolve("memory.usage_in_bytes"), "990");
    write(own.resolve("memory.stat"), "active_file 1\ntotal_inactive_file 5\ntotal_active_file 5");
    assertReads(Resource.MEMORY, 980, 1000, own.resolve("memory.limit_in_bytes"));
  }

  @Test
  void aUseThatLeavesPlentyIsAtMostWarn() throws Exception {
    long total = 1000 * GIB / 1024;
    write("proc/meminfo", "MemTotal: " + total + " kB\nMemAvailable: " + total / 100 + " kB");
    assertThat(read(Resource.MEMORY).percent()).isEqualTo(99);
    assertThat(read(Resource.MEMORY).level()).isEqualTo(PressureLevel.WARN);
  }

  // --- the rest ---

  @Test
  void cgroupsHaveALimitOnlyWhereOneIsSet() throws Exception {
    Path own = ownCgroup();
    write(own.resolve("cgroup.stat"), "nr_descendants 70\nnr_dying_descendants 3");
    write(own.resolve("cgroup.max.descendants"), "max");
    assertThat(read(Resource.CGROUPS).hasLimit()).isFalse();
    assertThat(read(Resource.CGROUPS).use()).isEqualTo(70);
    write(own.resolve("cgroup.max.descendants"), "100");
    assertReads(Resource.CGROUPS, 70, 100, own.resolve("cgroup.max.descendants"));
  }

  @Test
  void mountsAreCountedAgainstTheKernelsLimit() throws Exception {
    assertReads(Resource.MOUNTS, 2, 100000, root.resolve("proc/sys/fs/mount-max"));
  }

  @Test
  void aLevelIsRememberedFromOneReadingToTheNext() throws Exception {
    Path own = ownCgroup();
    write(own.resolve("pids.max"), "100");
    Gauges gauges = gauges();
    write(own.resolve("pids.current"), "81");
    assertThat(gauges.read().level()).isEqualTo(PressureLevel.ALERT);
    write(own.resolve("pids.current"), "78");
    assertThat(gauges.read().level()).isEqualTo(PressureLevel.ALERT);
    assertThat(gauges().read().level()).isEqualTo(PressureLevel.WARN);
  }
}
