package dev.ebb.admission;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The resources of the idle daemon: descriptors by kind, threads by name. */
final class Idleness {
  /**
   * Threads that the JVM starts and ends as it likes: compilers, collectors, and the pools of the
   * JDK that shrink when idle; the kernel cuts names at 15.
   */
  private static final Set<String> ELASTIC =
      Set.of("C1 CompilerThre", "C2 CompilerThre", "GC Thread", "Attach Listener");

  private static final Pattern NUMBER = Pattern.compile("[-#]?\\d+.*$");
  private static final String POOL = "ForkJoinPool";
  private static final String UNPARKER = "VirtualThread-u";

  private Idleness() {}

  /**
   * Counts all of them by kind.
   *
   * @param connections of callers, which callers may keep open while idle
   */
  static Map<String, Integer> sample(Readings readings, int connections) throws KernelException {
    var counts = new TreeMap<String, Integer>();
    readings
        .descriptors()
        .forEach((kind, count) -> counts.put("descriptor " + kind.wireName(), count));
    counts.merge(
        "descriptor " + DescriptorKind.SOCKET.wireName(),
        -connections,
        (all, callers) -> Math.max(0, all + callers));
    for (Path task : Filesystem.directories(Path.of("/proc/self/task"))) {
      String name = name(task);
      if (!name.isEmpty() && !isElastic(name)) {
        counts.merge("thread " + NUMBER.matcher(name).replaceAll(""), 1, Integer::sum);
      }
    }
    return counts;
  }

  /** Returns the name of a thread; empty if it has just ended. */
  private static String name(Path task) {
    try {
      return Filesystem.read(task.resolve("comm")).strip();
    } catch (KernelException e) {
      return "";
    }
  }

  private static boolean isElastic(String name) {
    return name.startsWith(POOL)
        || name.startsWith(UNPARKER)
        || ELASTIC.stream().anyMatch(name::startsWith);
  }
}
