package dev.ebb.acceptance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The operations of many callers on one name, and whether a single caller could have made them: a
 * search for an order of all steps in which each step lies between call and return of its
 * operation, and each is possible for a name and its boxes. Names do not affect each other, so each
 * has a history of its own (linearizability is local).
 *
 * <p>The history is cut into blocks at the moments at which no operation was under way. The search
 * finds every model in which a block can end, and begins the next block with each of them.
 */
final class NameHistory {
  /** The state of a box, as far as callers can tell. */
  enum Phase {
    CREATING,
    RUNNING,
    STOPPING,
    GONE
  }

  /**
   * A name at one moment.
   *
   * @param box that has the name now
   * @param phases of all boxes that were reserved
   * @param found by operations in the middle of their steps: the box that each found
   */
  record Model(
      @Nullable String box, TreeMap<String, Phase> phases, TreeMap<Integer, String> found) {
    static final Model START = new Model(null, new TreeMap<>(), new TreeMap<>());

    boolean is(@Nullable String id, Phase phase) {
      return id != null && phases.get(id) == phase;
    }

    Model name(@Nullable String id) {
      return new Model(id, phases, found);
    }

    Model phase(String id, Phase next) {
      var changed = new TreeMap<>(phases);
      changed.put(id, next);
      return new Model(box, changed, found);
    }

    Model bind(int operation, String id) {
      var changed = new TreeMap<>(found);
      changed.put(operation, id);
      return new Model(box, phases, changed);
    }

    Model unbind(int operation) {
      if (!found.containsKey(operation)) {
        return this;
      }
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
   * @param text for the report of a history that is not linearizable
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

  record Judgement(Verdict verdict, String detail) {}

  /** Visits no more than {@code most} moments in a block. */
  static Judgement judge(List<Operation> operations, long most) {
    Set<Model> models = Set.of(Model.START);
    for (List<Operation> operationsOfBlock : blocks(operations)) {
      var block = new Block(operationsOfBlock, most);
      models.forEach(block::search);
      if (block.ends.isEmpty()) {
        return new Judgement(
            block.isCutOff() ? Verdict.UNKNOWN : Verdict.NOT_LINEARIZABLE, block.stuck);
      }
      if (block.isCutOff()) {
        return new Judgement(Verdict.UNKNOWN, "too many orders of " + operationsOfBlock.size());
      }
      models = block.ends;
    }
    return new Judgement(Verdict.LINEARIZABLE, "");
  }

  private static List<List<Operation>> blocks(List<Operation> operations) {
    var blocks = new ArrayList<List<Operation>>();
    long end = Long.MIN_VALUE;
    for (Operation each :
        operations.stream().sorted(Comparator.comparingLong(Operation::call)).toList()) {
      if (blocks.isEmpty() || each.call() > end) {
        blocks.add(new ArrayList<>());
      }
      blocks.getLast().add(each);
      end = Math.max(end, each.end());
    }
    return blocks;
  }

  /** Operations of which each overlaps with another, in the order of their calls. */
  private static final class Block {
    private final List<Operation> operations;
    private final long most;
    private final int[] done;
    private final Set<Moment> seen = new HashSet<>();
    private final Set<Model> ends = new HashSet<>();
    private int furthest = -1;
    private String stuck = "";

    private record Moment(String progress, Model model) {}

    Block(List<Operation> operations, long most) {
      this.operations = operations;
      this.most = most;
      done = new int[operations.size()];
    }

    boolean isCutOff() {
      return seen.size() >= most;
    }

    void search(Model now) {
      search(now, 0);
    }

    /** ORDER: an operation that ended before another began comes before it. */
    private void search(Model now, int finished) {
      if (finished == operations.size()) {
        ends.add(now);
        return;
      }
      if (isCutOff() || !seen.add(new Moment(Arrays.toString(done), now))) {
        return;
      }
      if (finished > furthest) {
        furthest = finished;
        stuck = describe(now);
      }
      List<Integer> candidates = candidates();
      // A step that changes nothing now changes nothing later, so no other order need be tried.
      for (int each : candidates) {
        Optional<Model> after = step(each).at(now, each);
        if (after.isPresent() && after.get().equals(now)) {
          searchAfter(now, each, finished);
          return;
        }
      }
      for (int each : candidates) {
        step(each).at(now, each).ifPresent(after -> searchAfter(after, each, finished));
      }
    }

    private Step step(int operation) {
      return operations.get(operation).steps().get(done[operation]);
    }

    private void searchAfter(Model after, int operation, int finished) {
      done[operation]++;
      boolean isOver = done[operation] == operations.get(operation).steps().size();
      search(isOver ? after.unbind(operation) : after, finished + (isOver ? 1 : 0));
      done[operation]--;
    }

    /** The operations that began before any unfinished one ended. */
    private List<Integer> candidates() {
      long bound = Long.MAX_VALUE;
      var open = new ArrayList<Integer>();
      for (int i = 0; i < operations.size() && operations.get(i).call() < bound; i++) {
        if (done[i] < operations.get(i).steps().size()) {
          open.add(i);
          bound = Math.min(bound, operations.get(i).end());
        }
      }
      return open;
    }

    private String describe(Model now) {
      var text = new StringBuilder("nothing can follow ").append(now);
      for (int i = 0; i < operations.size(); i++) {
        Operation each = operations.get(i);
        text.append(
            "\n  %d to %d us: %s, step %d of %d"
                .formatted(
                    (each.call() - operations.getFirst().call()) / 1000,
                    (each.end() - operations.getFirst().call()) / 1000,
                    each.text(),
                    done[i],
                    each.steps().size()));
      }
      return text.toString();
    }
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

  /** Also a box that was removed before, when no other box has the name. */
  static Step findOrRemember(String id) {
    return (now, _) ->
        id.equals(now.box()) || (now.box() == null && now.is(id, Phase.GONE))
            ? Optional.of(now)
            : Optional.empty();
  }

  static Step is(String id, Phase phase) {
    return (now, _) -> now.is(id, phase) ? Optional.of(now) : Optional.empty();
  }

  static Step beginEnd(String id) {
    return (now, _) ->
        switch (now.phases().get(id)) {
          case null -> Optional.empty();
          case CREATING -> Optional.empty();
          case RUNNING -> Optional.of(now.phase(id, Phase.STOPPING));
          case STOPPING, GONE -> Optional.of(now);
        };
  }

  /** Also for an operation that waits for the end that another one began. */
  static Step end(String id) {
    return (now, _) ->
        switch (now.phases().get(id)) {
          case null -> Optional.empty();
          case CREATING, RUNNING -> Optional.empty();
          case STOPPING -> Optional.of(now.phase(id, Phase.GONE));
          case GONE -> Optional.of(now);
        };
  }

  static Step unlist(String id) {
    return (now, _) -> Optional.of(id.equals(now.box()) ? now.name(null) : now);
  }

  /** Some box, which the operation goes on with. */
  static Step findAny() {
    return (now, operation) ->
        now.box() == null ? Optional.empty() : Optional.of(now.bind(operation, now.box()));
  }

  static Step foundIsNot(Phase phase) {
    return (now, operation) ->
        now.is(now.found().get(operation), phase) ? Optional.empty() : Optional.of(now);
  }
}
