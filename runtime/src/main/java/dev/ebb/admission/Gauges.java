package dev.ebb.admission;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.DiskSpace;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Reserve;
import dev.ebb.kernel.Self;
import dev.ebb.process.CgroupChain;
import dev.ebb.process.PidLimit;
import dev.ebb.process.ProcFs;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Measures the use of every resource that a host can run out of, against every limit that applies
 * to this process.
 *
 * <p>A level depends on the one before it, so a process has one object of this class. Thread-safe.
 */
public final class Gauges {
  private final Path root;
  private final Path state;
  private final Thresholds thresholds;
  private final InstantSource clock;
  private final OrderedLock lock = new OrderedLock(LockOrder.GAUGES);

  @GuardedBy("lock")
  private final Map<Resource, PressureLevel> levels = new EnumMap<>(Resource.class);

  /** Gauges of this host, and of the file system that holds {@code state}. */
  public Gauges(Path state, Thresholds thresholds) {
    this(Path.of("/"), state, thresholds, InstantSource.system());
  }

  /** Gauges that read the files below {@code root}. */
  public Gauges(Path root, Path state, Thresholds thresholds, InstantSource clock) {
    this.root = root;
    this.state = state;
    this.thresholds = thresholds;
    this.clock = clock;
  }

  public Thresholds thresholds() {
    return thresholds;
  }

  /** Reads all gauges: about 0.5 ms, and 3 us more for each descriptor of this process. */
  public Readings read() throws KernelException {
    lock.lock();
    try {
      return readAll();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Readings readAll() throws KernelException {
    long begun = System.nanoTime();
    var readings = new ArrayList<Reading>();
    var look =
        new Look(Descriptors.byKind(root.resolve("proc")), PidLimit.all(root), DiskSpace.of(state));
    for (Resource resource : Resource.values()) {
      Amount nearest =
          amounts(resource, look).stream()
              .max(Comparator.comparingDouble(Amount::percent))
              .orElseThrow();
      PressureLevel before = levels.getOrDefault(resource, PressureLevel.OK);
      Reading reading = Reading.of(resource, nearest, thresholds, before);
      levels.put(resource, reading.level());
      readings.add(reading);
    }
    return new Readings(
        clock.instant(), Duration.ofNanos(System.nanoTime() - begun), readings, look.descriptors());
  }

  /** Values that more than one gauge needs. */
  private record Look(
      Map<DescriptorKind, Integer> descriptors, List<PidLimit> pids, DiskSpace disk) {}

  private List<Amount> amounts(Resource resource, Look look) throws KernelException {
    return switch (resource) {
      case PIDS -> pids(look.pids());
      case DESCRIPTORS -> descriptors(look.descriptors());
      case THREADS -> threads(look.pids());
      case MEMORY -> memory();
      case DISK -> disk(look.disk());
      case INODES -> inodes(look.disk());
      case CGROUPS -> cgroups();
      case MOUNTS -> mounts();
    };
  }

  private String proc(String file) throws KernelException {
    return Filesystem.read(root.resolve("proc").resolve(file));
  }

  // --- processes and threads ---

  private List<Amount> pids(List<PidLimit> limits) throws KernelException {
    long all = everywhere();
    var amounts = new ArrayList<Amount>();
    for (PidLimit limit : limits) {
      if (limit.source().equals(PidLimit.RLIMIT)) {
        addOfUser(amounts, limit, all);
      } else if (limit.source().endsWith("pids.max")) {
        Path current = Path.of(limit.source()).resolveSibling("pids.current");
        CgroupChain.number(current)
            .ifPresent(use -> amounts.add(new Amount(use, limit.max(), limit.source())));
      } else {
        amounts.add(new Amount(all, limit.max(), limit.source()));
      }
    }
    return amounts;
  }

  /** KERNEL: proc(5), loadavg: the fourth word is runnable/all, threads of the whole host. */
  private long everywhere() throws KernelException {
    String entities = proc("loadavg").split(" ")[3];
    return Long.parseLong(entities.substring(entities.indexOf('/') + 1));
  }

  /**
   * KERNEL: root is exempt. Counting the processes of one user reads every process, so that is done
   * only where the total of the host comes near the limit.
   */
  private static void addOfUser(List<Amount> amounts, PidLimit limit, long all) {
    int self = Self.uid();
    if (self != 0 && all > limit.max() / 2) {
      long own =
          ProcFs.all().stream()
              .filter(pid -> ProcFs.uid(pid).orElse(-1) == self)
              .flatMap(pid -> ProcFs.stat(pid).stream())
              .mapToLong(ProcFs.Stat::threads)
              .sum();
      amounts.add(new Amount(own, limit.max(), limit.source()));
    }
  }

  private List<Amount> threads(List<PidLimit> limits) throws KernelException {
    long own = field(proc("self/status"), "Threads:");
    return limits.stream().map(limit -> new Amount(own, limit.max(), limit.source())).toList();
  }

  /** Returns the number after the word at the beginning of a line. */
  private static long field(String text, String name) {
    return text.lines()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip().split("\\s")[0])
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElse(0);
  }

  // --- descriptors ---

  private List<Amount> descriptors(Map<DescriptorKind, Integer> byKind) throws KernelException {
    int open = byKind.values().stream().mapToInt(Integer::intValue).sum();
    long most = ProcFs.limit(proc("self/limits"), "Max open files");
    // KERNEL: allocated, free (always 0), most.
    String[] all = proc("sys/fs/file-nr").strip().split("\\s+");
    return List.of(
        // Descriptors spent from the reserve are owed, so they count as used.
        new Amount(open + Reserve.spent(), most, "RLIMIT_NOFILE"),
        new Amount(
            Long.parseLong(all[0]),
            Long.parseLong(all[2]),
            root.resolve("proc/sys/fs/file-nr").toString()));
  }

  // --- memory ---

  private List<Amount> memory() throws KernelException {
    var amounts = new ArrayList<Amount>();
    String host = proc("meminfo");
    long total = field(host, "MemTotal:") * 1024;
    amounts.add(
        new Amount(
            total - field(host, "MemAvailable:") * 1024,
            total,
            root.resolve("proc/meminfo").toString()));
    for (Path cgroup : CgroupChain.of(root, "memory")) {
      addMemory(amounts, cgroup, "memory.max", "memory.current", "");
      addMemory(amounts, cgroup, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
    }
    return amounts;
  }

  /**
   * KERNEL: cached files count, and are reclaimed before the kernel kills a process for want of
   * memory.
   */
  private static void addMemory(
      List<Amount> amounts, Path cgroup, String limit, String use, String prefix)
      throws KernelException {
    Path file = cgroup.resolve(limit);
    var most = CgroupChain.number(file);
    var used = CgroupChain.number(cgroup.resolve(use));
    var stat = CgroupChain.text(cgroup.resolve("memory.stat"));
    if (most.isPresent() && used.isPresent() && stat.isPresent()) {
      long cached =
          field(stat.get(), prefix + "active_file ") + field(stat.get(), prefix + "inactive_file ");
      amounts.add(new Amount(Math.max(0, used.get() - cached), most.get(), file.toString()));
    }
  }

  // --- file systems ---

  private List<Amount> disk(DiskSpace space) {
    return List.of(
        new Amount(space.usedBytes(), space.usedBytes() + space.freeBytes(), state.toString()));
  }

  private List<Amount> inodes(DiskSpace space) {
    return List.of(
        space.inodes() == 0
            ? Amount.unlimited(0)
            : new Amount(space.inodes() - space.freeInodes(), space.inodes(), state.toString()));
  }

  // --- cgroups and mounts ---

  private List<Amount> cgroups() throws KernelException {
    var amounts = new ArrayList<Amount>();
    long most = 0;
    for (Path cgroup : CgroupChain.of(root, "")) {
      var stat = CgroupChain.text(cgroup.resolve("cgroup.stat"));
      if (stat.isPresent()) {
        Path file = cgroup.resolve("cgroup.max.descendants");
        long use = field(stat.get(), "nr_descendants ");
        CgroupChain.number(file)
            .ifPresent(limit -> amounts.add(new Amount(use, limit, file.toString())));
        most = Math.max(most, use);
      }
    }
    return amounts.isEmpty() ? List.of(Amount.unlimited(most)) : amounts;
  }

  private List<Amount> mounts() throws KernelException {
    Path setting = root.resolve("proc/sys/fs/mount-max");
    long use = proc("self/mountinfo").lines().count();
    return List.of(
        CgroupChain.number(setting)
            .map(limit -> new Amount(use, limit, setting.toString()))
            .orElseGet(() -> Amount.unlimited(use)));
  }
}
