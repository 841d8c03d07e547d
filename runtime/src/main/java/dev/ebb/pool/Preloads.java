package dev.ebb.pool;

import static java.util.Objects.requireNonNullElseGet;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ByteSize;
import dev.ebb.model.FirstFile;
import dev.ebb.model.PlannedStart;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.locks.Condition;

/**
 * The modules that python imports before it waits: those of the configuration, or those that
 * programs were seen to import. Of a program it keeps the names alone, and only a module that could
 * be imported where no file of a tenant is becomes one of them. Thread-safe.
 */
final class Preloads {
  /** This many programs must import a module before it is tried. */
  private static final int PROGRAMS = 2;

  private static final int MOST = 16;
  private static final Duration MOST_CPU = Duration.ofSeconds(1);
  private static final int CANDIDATES = 256;
  private static final int QUEUE = 8;
  private static final int BEGINNING = 32 << 10;

  /** A module that no program imported for so long makes room for another. */
  private static final Duration UNUSED = Duration.ofMinutes(10);

  /** What a module costs each zygote. */
  record Cost(Duration cpu, ByteSize memory) {}

  /** What is known of a module; guarded by the lock. */
  private static final class Seen {
    private int programs;
    private long at = System.nanoTime();
    private boolean isTried;
    private Optional<Cost> cost = Optional.empty();

    private boolean isDue() {
      return !isTried && programs >= PROGRAMS;
    }

    private boolean isUnused(long now) {
      return now - at > UNUSED.toNanos();
    }
  }

  private final long memory;
  private final boolean learns;
  private final OrderedLock lock = new OrderedLock(LockOrder.POOL_PRELOADS);
  private final Condition news = lock.newCondition();

  /** The beginnings of programs whose imports were not read yet. */
  @GuardedBy("lock")
  private final Queue<byte[]> programs = new ArrayDeque<>();

  /** By name, those seen last at the end. */
  @GuardedBy("lock")
  private final LinkedHashMap<String, Seen> candidates = new LinkedHashMap<>();

  private volatile List<String> imported;
  private volatile boolean wasUsed;

  /**
   * Begins with the modules of the configuration.
   *
   * @param learns whether to add those that programs import
   * @param memory the most that these may take
   */
  Preloads(List<String> imported, boolean learns, ByteSize memory) {
    this.imported = imported;
    this.learns = learns;
    this.memory = memory.bytes();
    wasUsed = !imported.isEmpty();
  }

  /** Returns the modules that python imports before it waits. */
  List<String> imported() {
    return imported;
  }

  /** Returns whether a waiting python may have imported any. */
  boolean wasUsed() {
    return wasUsed;
  }

  /** ORDER: called before an interpreter imports them, so a caller that gets it knows. */
  void announce(List<String> modules) {
    if (!modules.isEmpty()) {
      wasUsed = true;
    }
  }

  /** Notes that each interpreter has imported them from now on. */
  void use(List<String> modules) {
    announce(modules);
    imported = List.copyOf(modules);
  }

  // --- learning ---

  /** Notes a program of python, to have its imports read later. */
  void note(PlannedStart planned) {
    if (!learns) {
      return;
    }
    byte[] beginning = beginning(planned);
    lock.lock();
    try {
      if (beginning.length > 0 && programs.size() < QUEUE) {
        programs.add(beginning);
        news.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  private static byte[] beginning(PlannedStart planned) {
    List<String> command = planned.command().orElseThrow().command();
    if (command.get(1).equals("-c")) {
      String code = command.get(2);
      return code.substring(0, Math.min(code.length(), BEGINNING)).getBytes(StandardCharsets.UTF_8);
    }
    return planned
        .file()
        .filter(file -> file.name().equals(command.get(1)))
        .map(FirstFile::content)
        .map(content -> Arrays.copyOf(content, Math.min(content.length, BEGINNING)))
        .orElse(new byte[0]);
  }

  /** Waits until modules should be tried, and returns their names. */
  List<String> awaitCandidates() throws InterruptedException {
    while (true) {
      byte[] program = awaitProgram();
      var names = Imports.of(new String(program, StandardCharsets.UTF_8));
      lock.lock();
      try {
        names.forEach(this::count);
        List<String> due = due();
        if (!due.isEmpty()) {
          return due;
        }
      } finally {
        lock.unlock();
      }
    }
  }

  private byte[] awaitProgram() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      for (byte[] next = programs.poll(); ; next = programs.poll()) {
        if (next != null) {
          return next;
        }
        news.await();
      }
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void count(String name) {
    Seen seen = requireNonNullElseGet(candidates.get(name), Seen::new);
    seen.programs++;
    seen.at = System.nanoTime();
    candidates.putLast(name, seen);
    if (candidates.size() > CANDIDATES) {
      candidates.keySet().stream()
          .filter(each -> !imported.contains(each))
          .findFirst()
          .ifPresent(candidates::remove);
    }
  }

  @GuardedBy("lock")
  private List<String> due() {
    return candidates.entrySet().stream()
        .filter(each -> each.getValue().isDue())
        .map(Map.Entry::getKey)
        .toList();
  }

  /**
   * Notes what came of a trial.
   *
   * @param cost empty: it must not be imported
   */
  void tried(String name, Optional<Cost> cost) {
    lock.lock();
    try {
      Seen seen = candidates.get(name);
      if (seen != null) {
        seen.isTried = true;
        seen.cost = cost;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns how many names it remembers. */
  int remembered() {
    lock.lock();
    try {
      return candidates.size();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the modules to import, those used last first, as many as may be imported. */
  List<String> choice() {
    lock.lock();
    try {
      long now = System.nanoTime();
      var chosen = new ArrayList<String>();
      for (String name : imported) {
        if (!isUnused(name, now)) {
          chosen.add(name);
        }
      }
      for (String name : candidates.sequencedKeySet().reversed()) {
        addIfFits(name, chosen);
      }
      // Until another takes the room, one that is not used is no reason for a new zygote.
      return imported.containsAll(chosen) ? imported : List.copyOf(chosen);
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void addIfFits(String name, List<String> chosen) {
    Seen seen = candidates.get(name);
    if (seen == null || seen.cost.isEmpty() || chosen.contains(name)) {
      return;
    }
    chosen.add(name);
    if (!fits(chosen)) {
      chosen.removeLast();
    }
  }

  @GuardedBy("lock")
  private boolean isUnused(String name, long now) {
    Seen seen = candidates.get(name);
    return seen == null || seen.isUnused(now);
  }

  @GuardedBy("lock")
  private boolean fits(List<String> chosen) {
    Duration cpu = Duration.ZERO;
    long bytes = 0;
    for (String name : chosen) {
      Seen seen = candidates.get(name);
      if (seen != null && seen.cost.isPresent()) {
        cpu = cpu.plus(seen.cost.get().cpu());
        bytes += seen.cost.get().memory().bytes();
      }
    }
    return chosen.size() <= MOST && cpu.compareTo(MOST_CPU) <= 0 && bytes <= memory;
  }
}
