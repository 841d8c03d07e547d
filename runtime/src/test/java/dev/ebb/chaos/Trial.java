package dev.ebb.chaos;

import dev.ebb.engine.Engine;
import dev.ebb.fault.Faults;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.Certificate;
import dev.ebb.oracle.Trace;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.LogCapture;
import dev.ebb.testkit.Snapshot;
import dev.ebb.testkit.TestHost;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Lives a life again and again, in each of which another step fails. */
final class Trial {
  /** Steps with failures that the engine tolerates and need not report. */
  private static final Set<Step> SILENT =
      EnumSet.of(
          Step.OPEN_NEXT_LEDGER,
          Step.WRITE_NEXT_LEDGER,
          Step.REPLACE_LEDGER,
          Step.RMDIR_CGROUP,
          Step.SEND_KILL,
          Step.SEND_FORGET,
          Step.RECOVER_MEMBERS);

  /** The prefix of a line that reports how a step failed. */
  static final String GOOD = "good: ";

  static final String BAD = "BAD: ";

  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(10));

  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private final Path home;
  private final Life life;
  private final Step step;
  private final Witness witness = new Witness();
  private final List<String> faults = new ArrayList<>();

  private Trial(Path home, Life life, Step step) {
    this.home = home;
    this.life = life;
    this.step = step;
  }

  /**
   * Arguments: a home, the name of a life, and the names of steps. Prints a line for each step,
   * among others.
   */
  public static void main(String[] arguments) throws Exception {
    Path home = Path.of(arguments[0]);
    for (String name : List.of(arguments).subList(2, arguments.length)) {
      System.out.println(new Trial(home, Life.valueOf(arguments[1]), Step.valueOf(name)).hold());
    }
  }

  private String hold() throws Exception {
    Snapshot before = Snapshot.take(home);
    List<String> told;
    try (var log = new LogCapture("dev.ebb")) {
      Faults.fail(step, step.errno().orElseThrow());
      life.live(home, witness);
      require(Faults.disarm(), "was not reached");
      require(witness.isExcused() || leaks(before).isEmpty(), "left something");
      told = Stream.concat(witness.told().stream(), log.lines().stream()).toList();
    }
    require(
        SILENT.contains(step) || told.stream().anyMatch(each -> each.contains(step.name())),
        "was not reported");
    require(
        step == Step.REMOVE_LEAF || told.stream().noneMatch(each -> each.endsWith(Life.LEAF_LEFT)),
        "left a leaf");
    faults.addAll(witness.wrongs());
    inherit();
    leaks(before).stream().map(Trace::toString).forEach(faults::add);
    String verdict = faults.isEmpty() ? GOOD : BAD;
    return (verdict + step + " " + faults + " told " + told).replace('\n', ' ');
  }

  /**
   * Nothing else reaps what a recovery has ended: no engine is open, and some die a little later.
   */
  private static List<Trace> leaks(Snapshot before) throws Exception {
    Deadline deadline = Deadline.in(PATIENCE);
    TestHost.reapOrphans();
    List<Trace> leaks = before.leaksSince();
    while (!leaks.isEmpty() && !deadline.isOver()) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      TestHost.reapOrphans();
      leaks = before.leaksSince();
    }
    return leaks;
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      faults.add(otherwise);
    }
  }

  /** Whatever was left for the next one is released by it. */
  private void inherit() throws Exception {
    try (Engine engine = Engine.openForDaemon(home)) {
      require(
          engine.recovered().stream()
              .noneMatch(finding -> finding.fate() instanceof Recovery.Fate.Stuck),
          "is stuck in " + engine.recovered());
      for (Engine.Adopted each : engine.adopt()) {
        Certificate certificate = engine.release(each.box());
        require(certificate.isClean(), "cannot be released: " + certificate);
      }
    }
  }
}
