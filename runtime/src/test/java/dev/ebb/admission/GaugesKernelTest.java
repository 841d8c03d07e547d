package dev.ebb.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Scope;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** On this host, as it is. */
@Tag("kernel")
@LeakChecked
class GaugesKernelTest {
  private static final Path PIDS = Path.of("/sys/fs/cgroup/pids");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT);

  private Gauges gauges() throws IOException {
    return new Gauges(host.home(), Thresholds.DEFAULT);
  }

  @Test
  void everyGaugeReadsSomethingHere() throws Exception {
    Readings readings = gauges().read();
    assertThat(readings.readings())
        .extracting(Reading::resource)
        .containsExactly(Resource.values());
    assertThat(readings.readings())
        .allMatch(reading -> reading.limit() > 0 && reading.percent() < 100);
    for (Resource used : Resource.values()) {
      if (used != Resource.CGROUPS) {
        assertThat(readings.of(used).use()).as(used.wireName()).isPositive();
      }
    }
  }

  /** The test's own JVM goes into a cgroup for a moment: its threads are counted there. */
  @Test
  void aCgroupThatCountsProcessesIsTheNearestLimit() throws Exception {
    org.junit.jupiter.api.Assumptions.assumeTrue(
        Files.isWritable(PIDS.resolve("cgroup.procs")), "host lacks the v1 controller pids");
    String self = Long.toString(ProcessHandle.current().pid());
    Path before = own();
    Path cgroup = Files.createDirectory(PIDS.resolve("ebb-gauges-" + self));
    try {
      Files.writeString(cgroup.resolve("cgroup.procs"), self);
      Files.writeString(cgroup.resolve("pids.max"), "300");
      Reading reading = gauges().read().of(Resource.PIDS);
      assertThat(reading.source()).isEqualTo(cgroup.resolve("pids.max").toString());
      assertThat(reading.limit()).isEqualTo(300);
      long current = Long.parseLong(Files.readString(cgroup.resolve("pids.current")).strip());
      assertThat(reading.use()).isCloseTo(current, within(3L));
    } finally {
      Files.writeString(before.resolve("cgroup.procs"), self);
      Files.delete(cgroup);
    }
  }

  private static Path own() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/cgroup")).stream()
        .filter(line -> line.contains(":pids:"))
        .map(line -> PIDS.resolve(line.substring(line.indexOf(":/") + 2)))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void oneMoreDescriptorIsCountedByItsKind() throws Exception {
    Gauges gauges = gauges();
    Readings before = gauges.read();
    try (var scope = new Scope()) {
      Fd.event(scope);
      Readings after = gauges.read();
      assertThat(count(after, DescriptorKind.EVENTFD))
          .isEqualTo(count(before, DescriptorKind.EVENTFD) + 1);
      int own = after.descriptors().values().stream().mapToInt(Integer::intValue).sum();
      Reading nearest = after.of(Resource.DESCRIPTORS);
      // On a small host all processes together may be nearer to their limit than we to ours.
      boolean isOwn = nearest.source().equals("RLIMIT_NOFILE");
      assertThat(nearest.use()).isBetween((long) own, isOwn ? own : Long.MAX_VALUE);
    }
  }

  private static int count(Readings readings, DescriptorKind kind) {
    return readings.descriptors().getOrDefault(kind, 0);
  }

  /** Processor time, for others may have the processors. */
  @Test
  void readingIsCheap() throws Exception {
    Gauges gauges = gauges();
    int rounds = 500;
    long begun = 0;
    for (int i = 0; i < 2 * rounds; i++) {
      begun = i == rounds ? processorTime() : begun;
      gauges.read();
    }
    var each = Duration.ofNanos((processorTime() - begun) / rounds);
    System.out.println("gauges: " + each.toNanos() / 1000 + " us of processor time");
    assertThat(each).isBetween(Duration.ofNanos(1), TestHost.patience(Duration.ofMillis(10)));
  }

  private static long processorTime() throws IOException {
    return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[0]);
  }
}
