package dev.ebb.model;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The proof of a release: what was held, what was observed to be gone, and what is stuck. */
public record Certificate(
    String box,
    Map<Kind, Integer> held,
    Map<Kind, Integer> released,
    List<Stuck> stuck,
    Duration took) {

  /** A resource whose absence could not be observed. */
  public record Stuck(Kind kind, String subject, String reason) {
    @Override
    public String toString() {
      return kind.wireName() + " " + subject + ": " + reason;
    }
  }

  public Certificate {
    held = Map.copyOf(held);
    released = Map.copyOf(released);
    stuck = List.copyOf(stuck);
  }

  /** Returns whether everything that was held has been observed to be gone. */
  public boolean isClean() {
    return stuck.isEmpty() && held.equals(released);
  }

  /** Returns a copy that lists one more resource of {@code kind} as stuck. */
  public Certificate butStuck(Kind kind, String subject, String reason) {
    var more = new EnumMap<Kind, Integer>(Kind.class);
    more.putAll(held);
    more.merge(kind, 1, Integer::sum);
    var all = new ArrayList<>(stuck);
    all.add(new Stuck(kind, subject, reason));
    return new Certificate(box, more, released, all, took);
  }

  /** Formats it as one line for people. */
  @Override
  public String toString() {
    String counts =
        released.entrySet().stream()
            .sorted(Map.Entry.comparingByKey())
            .map(entry -> entry.getKey().wireName() + " " + entry.getValue())
            .collect(Collectors.joining(", "));
    String verdict =
        isClean()
            ? "nothing left"
            : "STUCK " + stuck.stream().map(Stuck::toString).collect(Collectors.joining("; "));
    return box + ": released " + counts + " in " + took.toMillis() + " ms; " + verdict;
  }
}
