package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The operations of many callers on one name, and whether a single caller could have made them: a
 * search for an order of all steps in which each step lies between call and return of its
 * operation, and each is possible for a name and its boxes. Names do not affect each other, so each
 * has a history of its own (linearizability is local).
 *
 * <p>The history is cut into blocks at the moments at which no operation was under way. The search
 * finds every model in which a block can end, and begins the next block with each of them. Only
 * steps that change something are tried in every order, so the search is short.
 */
final class NameHistory {
  /** The state of a box, as far as callers can observe it. */
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
   * @param found by operations that wait for a step: the boxes that each may have found
   */
  record Model(
      @Nullable String box, TreeMap<String, Phase> phases, TreeMap<Integer, Set<String>> found) {
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

    /** The operation may have found the box that has the name now. */
    Model withFound(int operation) {
      Set<String> before = found.getOrDefault(operation, Set.of());
      if (box == null || before.contains(box)) {
        return this;
      }
      var boxes = new HashSet<>(before);
      boxes.add(box);
      var changed = new TreeMap<>(found);
      changed.put(operation, Set.copyOf(boxes));
      return new Model(box, phases, changed);
    }

    Model withoutFound(int operation) {
      if (!found.containsKey(operation)) {
        return this;
      }
      var changed = new TreeMap<>(found);
      changed.remove(operation);
      return new Model(box, phases, changed);
    }
  }

  /** Part of an operation that happens at one moment. */
  interface Step {
    /** Empty: not now. */
    Optional<Model> at(Model now, int operation);

    /** What the operation sees while it is not possible yet. */
    default Model watch(Model now, int operation) {
      return now;
    }
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
      block.search(models);
      if (block.isCutOff()) {
        return new Judgement(Verdict.UNKNOWN, "too many orders; " + block.describe());
      }
      if (block.ends.isEmpty()) {
        return new Judgement(Verdict.NOT_LINEARIZABLE, block.describe());
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

  /**
   * Overlapping operations, in the order of their calls. The search visits each moment once, from a
   * list of those still to visit.
   */
  private static final class Block {
    private final List<Operation> operations;
    private final long most;
    private final Set<Moment> seen = new HashSet<>();
    private final Deque<Moment> open = new ArrayDeque<>();
    private final Set<Model> ends = new HashSet<>();
    private long furthest = -1;
    private @Nullable Moment stuck;

    /** How many steps of each operation are done, and what that has led to. */
    private record Moment(List<Integer> done, Model model) {}

    Block(List<Operation> operations, long most) {
      this.operations = operations;
      this.most = most;
    }

    boolean isCutOff() {
      return seen.size() >= most;
    }

    void search(Set<Model> models) {
      List<Integer> nothing = Collections.nCopies(operations.size(), 0);
      models.forEach(model -> visitLater(new Moment(nothing, model)));
      while (!open.isEmpty() && !isCutOff()) {
        visit(open.pop());
      }
    }

    private void visitLater(Moment moment) {
      if (seen.add(moment)) {
        open.push(moment);
      }
    }

    private void visit(Moment first) {
      List<Integer> candidates = candidates(first);
      Model model = first.model();
      for (int each : candidates) {
        model = next(first, each).watch(model, each);
      }
      var now = new Moment(first.done(), model);
      note(now);
      if (candidates.isEmpty()) {
        ends.add(now.model());
        return;
      }
      // A step that changes nothing now changes nothing later, so no other order need be tried.
      for (int each : candidates) {
        Optional<Model> after = step(now, each);
        if (after.isPresent() && after.get().equals(now.model())) {
          visitLater(after(now, each, after.get()));
          return;
        }
      }
      for (int each : candidates) {
        step(now, each).ifPresent(after -> visitLater(after(now, each, after)));
      }
    }

    private void note(Moment now) {
      long finished =
          IntStream.range(0, operations.size()).filter(each -> isOver(now.done(), each)).count();
      if (finished > furthest) {
        furthest = finished;
        stuck = now;
      }
    }

    private boolean isOver(List<Integer> done, int operation) {
      return done.get(operation) == operations.get(operation).steps().size();
    }

    private Step next(Moment now, int operation) {
      return operations.get(operation).steps().get(now.done().get(operation));
    }

    private Optional<Model> step(Moment now, int operation) {
      return next(now, operation).at(now.model(), operation);
    }

    private Moment after(Moment now, int operation, Model after) {
      var done = new ArrayList<>(now.done());
      done.set(operation, done.get(operation) + 1);
      return new Moment(
          List.copyOf(done), isOver(done, operation) ? after.withoutFound(operation) : after);
    }

    /**
     * The operations that began before any unfinished one ended. ORDER: an operation that ended
     * before another began comes before it.
     */
    private List<Integer> candidates(Moment now) {
      long bound = Long.MAX_VALUE;
      var candidates = new ArrayList<Integer>();
      for (int i = 0; i < operations.size() && operations.get(i).call() < bound; i++) {
        if (!isOver(now.done(), i)) {
          candidates.add(i);
          bound = Math.min(bound, operations.get(i).end());
        }
      }
      return candidates;
    }

    private String describe() {
      Moment now = requireNonNull(stuck);
      var text = new StringBuilder("nothing can follow ").append(now.model());
      for (int i = 0; i < operations.size(); i++) {
        Operation each = operations.get(i);
        text.append(
            "\n  %d to %d us: %s, step %d of %d"
                .formatted(
                    (each.call() - operations.getFirst().call()) / 1000,
                    (each.end() - operations.getFirst().call()) / 1000,
                    each.text(),
                    now.done().get(i),
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

  /**
   * Some box that was found had another phase. Which box that was does not matter: every box that
   * had the name since the operation began may be it, so no order of finding need be tried.
   */
  static Step someBoxIsNot(Phase phase) {
    return new Step() {
      @Override
      public Model watch(Model now, int operation) {
        return now.withFound(operation);
      }

      @Override
      public Optional<Model> at(Model now, int operation) {
        return now.found().getOrDefault(operation, Set.of()).stream()
                .anyMatch(id -> !now.is(id, phase))
            ? Optional.of(now)
            : Optional.empty();
      }
    };
  }
}
