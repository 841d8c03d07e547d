package dev.ebb.oracle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * How many descriptors of each kind and threads of each name a JVM has. Of one that is idle it does
 * not grow, however long it has worked.
 *
 * @param counts by kind of descriptor, and by name of thread without its numbers
 */
public record Footprint(Map<String, Integer> counts) {
  public Footprint {
    counts = Map.copyOf(counts);
  }

  public static Footprint of(int pid) throws IOException {
    var counts = new TreeMap<String, Integer>();
    ProcessTable none = new ProcessTable(pid, List.of());
    for (Trace descriptor : Descriptors.of(pid).look(none)) {
      counts.merge(descriptor.kind(), 1, Integer::sum);
    }
    for (Trace thread : Threads.of(pid).look(none)) {
      counts.merge("thread " + name(thread), 1, Integer::sum);
    }
    return new Footprint(counts);
  }

  /** Details are {@code tid 7 name}; pools number their threads. */
  private static String name(Trace thread) {
    return thread.details().split(" ", 3)[2].replaceAll("@?[0-9a-f]*[0-9]+[0-9a-f]*", "#");
  }

  /** The most of both, kind by kind. */
  public Footprint most(Footprint other) {
    var most = new TreeMap<>(counts);
    other.counts.forEach((kind, count) -> most.merge(kind, count, Math::max));
    return new Footprint(most);
  }

  /** Returns what it has beyond {@code baseline}, one line for each kind. */
  public List<Trace> growthSince(Footprint baseline) {
    var grown = new ArrayList<Trace>();
    new TreeMap<>(counts)
        .forEach(
            (kind, count) -> {
              int before = baseline.counts.getOrDefault(kind, 0);
              if (count > before) {
                String details = "%d, the baseline is %d".formatted(count, before);
                grown.add(new Trace(Invariant.I7, kind, kind, details));
              }
            });
    return grown;
  }

  public int sum() {
    return counts.values().stream().mapToInt(Integer::intValue).sum();
  }
}
