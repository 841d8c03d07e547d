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
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text + "\n");
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
    cgroups.write(inner, "pids.max", "300\n");
    cgroups.write(inner, "pids.current", "30\n");
    cgroups.write(outer, "pids.max", "1000\n");
    cgroups.write(outer, "pids.current", "850\n");
    assertReads(Resource.PIDS, 850, 1000, outer.resolve("pids.max"));
    assertThat(read(Resource.PIDS).level()).isEqualTo(PressureLevel.ALERT);
  }

  @Test
  void aHierarchyOfVersion1CountsToo() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "8:pids:/docker/abc\n0::/docker/abc");
    cgroups.create("docker/abc");
    Path own = cgroups.version1("pids").resolve("docker/abc");
    cgroups.write(own, "pids.max", "300\n");
    cgroups.write(own, "pids.current", "290\n");
    assertReads(Resource.PIDS, 290, 300, own.resolve("pids.max"));
    assertThat(read(Resource.PIDS).level()).isEqualTo(PressureLevel.FULL);
  }

  @Test
  void aCgroupOfAnotherHierarchyIsNotOurs() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "9:memory:/other\n8:pids:/\n0::/");
    cgroups.create("other");
    Path other = cgroups.version1("pids").resolve("other");
    cgroups.write(other, "pids.max", "10\n");
    cgroups.write(other, "pids.current", "10\n");
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
    var cgroups = FakeCgroupFs.v2(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "0::/ebb");
    Path own = cgroups.create("ebb");
    cgroups.write(own, "memory.max", "1000000\n");
    cgroups.write(own, "memory.current", "990000\n");
    cgroups.write(own, "memory.stat", "anon 1\ninactive_file 100000\nactive_file 40000\n");
    assertReads(Resource.MEMORY, 850_000, 1_000_000, own.resolve("memory.max"));
    assertThat(read(Resource.MEMORY).level()).isEqualTo(PressureLevel.ALERT);
  }

  @Test
  void memoryOfVersion1CountsWithAllBelow() throws Exception {
    var cgroups = FakeCgroupFs.hybrid(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "4:memory:/ebb\n0::/");
    cgroups.create("ebb");
    Path own = cgroups.version1("memory").resolve("ebb");
    cgroups.write(own, "memory.limit_in_bytes", "1000\n");
    cgroups.write(own, "memory.usage_in_bytes", "990\n");
    cgroups.write(
        own, "memory.stat", "active_file 1\ntotal_inactive_file 5\ntotal_active_file 5\n");
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
    var cgroups = FakeCgroupFs.v2(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "0::/ebb");
    Path own = cgroups.create("ebb");
    cgroups.write(own, "cgroup.stat", "nr_descendants 70\nnr_dying_descendants 3\n");
    cgroups.write(own, "cgroup.max.descendants", "max\n");
    assertThat(read(Resource.CGROUPS).hasLimit()).isFalse();
    assertThat(read(Resource.CGROUPS).use()).isEqualTo(70);
    cgroups.write(own, "cgroup.max.descendants", "100\n");
    assertReads(Resource.CGROUPS, 70, 100, own.resolve("cgroup.max.descendants"));
  }

  @Test
  void mountsAreCountedAgainstTheKernelsLimit() throws Exception {
    assertReads(Resource.MOUNTS, 2, 100000, root.resolve("proc/sys/fs/mount-max"));
  }

  @Test
  void aLevelIsRememberedFromOneReadingToTheNext() throws Exception {
    var cgroups = FakeCgroupFs.v2(root.resolve("sys/fs/cgroup"));
    write("proc/self/cgroup", "0::/ebb");
    Path own = cgroups.create("ebb");
    cgroups.write(own, "pids.max", "100\n");
    Gauges gauges = gauges();
    cgroups.write(own, "pids.current", "81\n");
    assertThat(gauges.read().level()).isEqualTo(PressureLevel.ALERT);
    cgroups.write(own, "pids.current", "78\n");
    assertThat(gauges.read().level()).isEqualTo(PressureLevel.ALERT);
    assertThat(gauges().read().level()).isEqualTo(PressureLevel.WARN);
  }
}
