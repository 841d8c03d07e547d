package dev.ebb.torture;

import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Trace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Counts what was done and seen so far. Thread-safe. */
final class Tally {
  private final long began = System.nanoTime();
  private final Map<Group, Map<String, Long>> counts = new EnumMap<>(Group.class);
  private final Map<Invariant, Long> checks = new EnumMap<>(Invariant.class);
  private final List<Violation> violations = new ArrayList<>();
  private final List<Sample> samples = new ArrayList<>();
  private final List<Duration> daemonKills = new ArrayList<>();
  private final Set<String> skipped = new LinkedHashSet<>();
  private final TimesToGone times = new TimesToGone();

  /** Groups of events that are counted by name. */
  enum Group {
    WORKLOAD("workloads"),
    ACT("done to boxes"),
    ENDING("ends"),
    KILL("kills and faults"),
    CAUSE("ends of commands"),
    CELL("ends of hostile cells"),
    REFUSAL("refused by the daemon"),
    BOX("boxes");

    private final String words;

    Group(String words) {
      this.words = words;
    }

    String words() {
      return words;
    }
  }

  /** How many processes there were at a moment. */
  record Sample(Duration at, int processes) {}

  synchronized void count(Group group, String word) {
    counts.computeIfAbsent(group, _ -> new TreeMap<>()).merge(word, 1L, Long::sum);
  }

  /** An invariant was looked at, and these break it. */
  synchronized void checked(Invariant invariant, String where, List<Trace> left) {
    checks.merge(invariant, 1L, Long::sum);
    for (Trace trace : left) {
      violations.add(new Violation(trace.invariant(), trace.toString(), where, sinceBegin()));
      System.err.println(
          "ebb torture: violation of " + trace.invariant() + ", " + where + ": " + trace);
    }
  }

  void broken(Invariant invariant, String what, String where) {
    checked(invariant, where, List.of(new Trace(invariant, "broken", what, what)));
  }

  synchronized void gone(int processes, Duration time) {
    times.add(processes, time);
  }

  synchronized void sample(int processes) {
    samples.add(new Sample(sinceBegin(), processes));
  }

  synchronized void daemonKilled() {
    daemonKills.add(sinceBegin());
  }

  synchronized void skip(String reason) {
    skipped.add(reason);
  }

  Duration sinceBegin() {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  synchronized boolean isClean() {
    return violations.isEmpty();
  }

  synchronized long sum(Group group) {
    return counts.getOrDefault(group, Map.of()).values().stream().mapToLong(Long::longValue).sum();
  }

  synchronized long count(Group group) {
    return counts.getOrDefault(group, Map.of()).getOrDefault("made", 0L);
  }

  /** All of it, as it is now. */
  synchronized Report report(Settings settings, String host) {
    var copied = new EnumMap<Group, Map<String, Long>>(Group.class);
    counts.forEach((group, words) -> copied.put(group, new TreeMap<>(words)));
    return new Report(
        settings,
        host,
        sinceBegin(),
        copied,
        new EnumMap<>(checks),
        List.copyOf(violations),
        times.rows(),
        times.all(),
        List.copyOf(samples),
        List.copyOf(daemonKills),
        List.copyOf(skipped));
  }
}
