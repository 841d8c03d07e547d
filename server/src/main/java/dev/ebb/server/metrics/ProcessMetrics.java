package dev.ebb.server.metrics;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * What the daemon itself uses, by the names that Prometheus' client libraries give it. Everything
 * is read when a scraper asks; the beans of the JVM are not loaded before.
 */
public final class ProcessMetrics {
  private static final Path SELF = Path.of("/proc/self");

  /** KERNEL: USER_HZ, the unit of times in /proc/PID/stat, is 100 for every program; time(7). */
  private static final double TICKS = 100;

  private static final double MILLIS = 1000;

  private ProcessMetrics() {}

  public static void register(Metrics metrics) {
    ofProcess(metrics);
    ofMemory(metrics);
    ofThreads(metrics);
  }

  private static void ofProcess(Metrics metrics) {
    double start =
        ProcessHandle.current().info().startInstant().orElse(Instant.EPOCH).toEpochMilli() / MILLIS;
    metrics.counter("process_cpu_seconds_total", "User and system time.", () -> cpuSeconds());
    metrics.gauge("process_start_time_seconds", "Start, in seconds since 1970.", () -> start);
    metrics.gauge("process_open_fds", "Open descriptors.", () -> descriptors());
    metrics.gauge("process_max_fds", "Most descriptors.", () -> limit("Max open files"));
    metrics.gauge(
        "process_virtual_memory_bytes", "Virtual memory.", () -> status("VmSize:") * 1024.0);
    metrics.gauge(
        "process_resident_memory_bytes", "Resident memory.", () -> status("VmRSS:") * 1024.0);
  }

  private static void ofMemory(Metrics metrics) {
    metrics.gauge(
        "jvm_memory_used_bytes", "Used memory.", "area", () -> memory(MemoryUsage::getUsed));
    metrics.gauge(
        "jvm_memory_committed_bytes",
        "Committed memory.",
        "area",
        () -> memory(MemoryUsage::getCommitted));
    metrics.gauge(
        "jvm_memory_max_bytes", "Most memory; -1: any.", "area", () -> memory(MemoryUsage::getMax));
    metrics.gauge(
        "jvm_buffer_pool_used_bytes",
        "Memory of buffers outside of the heap.",
        "pool",
        ProcessMetrics::buffers);
    metrics.summary(
        "jvm_gc_collection_seconds", "Collections, and their time.", "gc", ProcessMetrics::pauses);
  }

  private static void ofThreads(Metrics metrics) {
    metrics.gauge(
        "jvm_threads_current",
        "Platform threads.",
        () -> ManagementFactory.getThreadMXBean().getThreadCount());
    metrics.gauge(
        "jvm_threads_daemon",
        "Platform threads that do not keep the JVM alive.",
        () -> ManagementFactory.getThreadMXBean().getDaemonThreadCount());
    metrics.gauge(
        "jvm_threads_peak",
        "Most platform threads at a time.",
        () -> ManagementFactory.getThreadMXBean().getPeakThreadCount());
    metrics.counter(
        "jvm_threads_started_total",
        "Platform threads started.",
        () -> ManagementFactory.getThreadMXBean().getTotalStartedThreadCount());
    metrics.gauge(
        "jvm_runtime_info", "1, for the version.", "version", () -> Map.of(version(), 1.0));
  }

  private static String version() {
    return String.valueOf(System.getProperty("java.runtime.version"));
  }

  private static Map<String, Double> memory(ToLongFunction<MemoryUsage> amount) {
    var memory = ManagementFactory.getMemoryMXBean();
    return Map.of(
        "heap", (double) amount.applyAsLong(memory.getHeapMemoryUsage()),
        "nonheap", (double) amount.applyAsLong(memory.getNonHeapMemoryUsage()));
  }

  private static Map<String, Double> buffers() {
    var used = new HashMap<String, Double>();
    for (var pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      used.put(pool.getName(), (double) pool.getMemoryUsed());
    }
    return used;
  }

  private static Map<String, Metrics.Sum> pauses() {
    var pauses = new HashMap<String, Metrics.Sum>();
    for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      pauses.put(
          collector.getName(),
          new Metrics.Sum(collector.getCollectionCount(), collector.getCollectionTime() / MILLIS));
    }
    return pauses;
  }

  // --- /proc ---

  private static String read(String name) {
    try {
      return Files.readString(SELF.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Adds utime and stime; the name of the process, in brackets, may hold anything. */
  private static double cpuSeconds() {
    String stat = read("stat");
    String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 14);
    return (Long.parseLong(words[11]) + Long.parseLong(words[12])) / TICKS;
  }

  private static long descriptors() {
    try (var files = Files.newDirectoryStream(SELF.resolve("fd"))) {
      long count = 0;
      for (Path _ : files) {
        count++;
      }
      // Without the one that lists them.
      return count - 1;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static double limit(String name) {
    String line = line(read("limits"), name);
    String soft = line.strip().split("\\s+")[0];
    return soft.equals("unlimited") ? Double.POSITIVE_INFINITY : Double.parseDouble(soft);
  }

  private static long status(String name) {
    return Long.parseLong(line(read("status"), name).replace("kB", "").strip());
  }

  private static String line(String text, String name) {
    return text.lines()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no " + name + " in /proc/self"));
  }
}
