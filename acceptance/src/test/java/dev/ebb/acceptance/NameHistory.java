package dev.ebb.acceptance;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What many callers did with one name, and whether one caller could have done it alone: a search
 * for an order of all steps in which each step lies between call and return of its operation, and
 * each is what a name and its boxes would have done. Names do not touch each other, so each has a
 * history of its own (linearizability is local).
 */
final class NameHistory {
  /** Where a box is, as far as callers can tell. */
  enum Phase {
    CREATING,
    RUNNING,
    STOPPING,
    GONE
  }

  /**
   * A name at one moment.
   *
   * @param box that bears it now
   * @param phases of boxes that are not gone and unlisted
   * @param found by operations in the middle of their steps: the box that each found
   */
  record Model(
      @Nullable String box, TreeMap<String, Phase> phases, TreeMap<Integer, String> found) {
    static final Model START = new Model(null, new TreeMap<>(), new TreeMap<>());

    /** One that nobody finds any more is gone. */
    Phase phase(@Nullable String id) {
      return id == null ? Phase.GONE : phases.getOrDefault(id, Phase.GONE);
    }

    Model name(@Nullable String id) {
      return new Model(id, phases, found);
    }

    Model phase(String id, Phase next) {
      var changed = new TreeMap<>(phases);
      changed.put(id, next);
      return new Model(box, changed, found);
    }

    Model without(String id) {
      var changed = new TreeMap<>(phases);
      changed.remove(id);
      return new Model(id.equals(box) ? null : box, changed, found);
    }

    Model bind(int operation, String id) {
      var changed = new TreeMap<>(found);
      changed.put(operation, id);
      return new Model(box, phases, changed);
    }

    Model unbind(int operation) {
      var changed = new TreeMap<>(found);
      changed.remove(operation);
      return new Model(box, phases, changed);
    }
  }

  /** Part of an operation that happens at one moment; empty: not now. */
  interface Step {
    Optional<Model> at(Model now, int operation);
  }

  /**
   * One operation.
   *
   * @param text for whoever reads a history that is none
   */
  record Operation(long call, long end, String text, List<Step> steps) {
    Operation {
      steps = List.copyOf(steps);
    }
  }

  /** How a search ended. */
  enum Verdict {
    LINEARIZABLE,
    NOT_LINEARIZABLE,
    /** The bound came first. */
    UNKNOWN
  }

  /** Operations before and after the first that cannot be placed. */
  private static final int TOLD = 16;

  private final List<Operation> operations;
  private final long most;
  private final int[] done;
  private final Set<String> seen = new HashSet<>();
  private int furthest;
  private String stuck = "";

  private NameHistory(List<Operation> operations, long most) {
    this.operations =
        operations.stream().sorted(Comparator.comparingLong(Operation::call)).toList();
    this.most = most;
    done = new int[operations.size()];
  }

  record Judgement(Verdict verdict, String detail) {}

  /** Looks at no more than {@code most} moments. */
  static Judgement judge(List<Operation> operations, long most) {
    var history = new NameHistory(operations, most);
    boolean found = history.search(Model.START, 0, 0);
    Verdict verdict =
        found
            ? Verdict.LINEARIZABLE
            : history.seen.size() >= most ? Verdict.UNKNOWN : Verdict.NOT_LINEARIZABLE;
    return new Judgement(verdict, found ? "" : history.stuck);
  }

  /** ORDER: whatever ended before another began comes before it. */
  private boolean search(Model now, int first, int finished) {
    if (finished == operations.size()) {
      return true;
    }
    if (seen.size() >= most || !seen.add(first + " " + progress(first) + " " + now)) {
      return false;
    }
    int next = first;
    while (done[next] == operations.get(next).steps().size()) {
      next++;
    }
    if (finished >= furthest) {
      furthest = finished;
      stuck = describe(now, next);
    }
    for (int each : candidates(next)) {
      Operation operation = operations.get(each);
      Optional<Model> after = operation.steps().get(done[each]).at(now, each);
      if (after.isEmpty()) {
        continue;
      }
      done[each]++;
      boolean isOver = done[each] == operation.steps().size();
      Model then = isOver ? after.get().unbind(each) : after.get();
      if (search(then, next, finished + (isOver ? 1 : 0))) {
        return true;
      }
      done[each]--;
    }
    return false;
  }

  /** Those that have begun before any unfinished one has ended; what ends first is tried first. */
  private List<Integer> candidates(int first) {
    long bound = Long.MAX_VALUE;
    var open = new ArrayList<Integer>();
    for (int i = first; i < operations.size() && operations.get(i).call() < bound; i++) {
      if (done[i] < operations.get(i).steps().size()) {
        open.add(i);
        bound = Math.min(bound, operations.get(i).end());
      }
    }
    open.sort(Comparator.comparingLong(i -> operations.get(i).end()));
    return open;
  }

  /** Of those that may be in the middle. */
  private String progress(int first) {
    var text = new StringBuilder();
    int last = done.length;
    while (last > first && done[last - 1] == 0) {
      last--;
    }
    for (int i = first; i < last; i++) {
      text.append(done[i]);
    }
    return text.toString();
  }

  private String describe(Model now, int first) {
    var text = new StringBuilder("nothing can follow ").append(now.box()).append(now.phases());
    candidates(first)
        .forEach(
            i ->
                text.append("\n  ")
                    .append(operations.get(i).text())
                    .append(" step ")
                    .append(done[i]));
    // What led to it, to find the cause.
    text.append("\nafter");
    for (int i = Math.max(0, first - TOLD); i < Math.min(operations.size(), first + TOLD); i++) {
      Operation each = operations.get(i);
      text.append(
          "\n  %d to %d us: %s%s"
              .formatted(
                  (each.call() - operations.getFirst().call()) / 1000,
                  (each.end() - operations.getFirst().call()) / 1000,
                  each.text(),
                  done[i] == each.steps().size() ? "" : ", not placed"));
    }
    return text.toString();
  }

  // --- the steps ---

  static Step absent() {
    return (now, _) -> now.box() == null ? Optional.of(now) : Optional.empty();
  }

  static Step present() {
    return (now, _) -> now.box() == null ? Optional.empty() : Optional.of(now);
  }

  static Step reserve(String id) {
    return (now, _) ->
        now.box() == null ? Optional.of(now.name(id).phase(id, Phase.CREATING)) : Optional.empty();
  }

  static Step made(String id) {
    return (now, _) -> Optional.of(now.phase(id, Phase.RUNNING));
  }

  static Step find(String id) {
    return (now, _) -> id.equals(now.box()) ? Optional.of(now) : Optional.empty();
  }

  /** Also one that was removed before, when no other bears the name. */
  static Step findOrRemember(String id) {
    return (now, _) ->
        id.equals(now.box()) || (now.box() == null && now.phase(id) == Phase.GONE)
            ? Optional.of(now)
            : Optional.empty();
  }

  static Step is(String id, Phase phase) {
    return (now, _) -> now.phase(id) == phase ? Optional.of(now) : Optional.empty();
  }

  static Step beginEnd(String id) {
    return (now, _) ->
        switch (now.phase(id)) {
          case CREATING -> Optional.empty();
          case RUNNING -> Optional.of(now.phase(id, Phase.STOPPING));
          case STOPPING, GONE -> Optional.of(now);
        };
  }

  /** Also for whoever waits for another who ends it. */
  static Step end(String id) {
    return (now, _) ->
        now.phase(id) == Phase.STOPPING ? Optional.of(now.phase(id, Phase.GONE)) : Optional.of(now);
  }

  static Step unlist(String id) {
    return (now, _) -> Optional.of(now.without(id));
  }

  /** Some box, which the operation goes on with. */
  static Step findAny() {
    return (now, operation) ->
        now.box() == null ? Optional.empty() : Optional.of(now.bind(operation, now.box()));
  }

  static Step foundIsNot(Phase phase) {
    return (now, operation) ->
        now.phase(now.found().get(operation)) == phase ? Optional.empty() : Optional.of(now);
  }
}
