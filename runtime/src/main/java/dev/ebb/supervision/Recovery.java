package dev.ebb.supervision;

import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import dev.ebb.process.StuckProcess;
import dev.ebb.step.Step;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Home;
import dev.ebb.store.LogDirectory;
import dev.ebb.store.UidClaims;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** Releases what dead instances left behind. Re-entrant: a crash in it is found by the next one. */
public final class Recovery {
  private static final Logger LOG = System.getLogger(Recovery.class.getName());
  private static final Duration SLICE = Duration.ofMillis(100);
  private static final Duration RETRY = Duration.ofMillis(1);

  private final Home home;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;
  private final Duration patience;
  private final BooleanSupplier isHurried;

  /**
   * Looks after a home.
   *
   * @param patience how long the killed may take to be gone, before they are called stuck
   */
  public Recovery(Home home, EmptyWait emptyWait, CgroupRemoval removal, Duration patience) {
    this(home, emptyWait, removal, patience, () -> false);
  }

  /**
   * Looks after a home, for a runtime that may go down meanwhile.
   *
   * @param isHurried whether to wait no longer
   */
  public Recovery(
      Home home,
      EmptyWait emptyWait,
      CgroupRemoval removal,
      Duration patience,
      BooleanSupplier isHurried) {
    this.isHurried = isHurried;
    this.home = home;
    this.emptyWait = emptyWait;
    this.removal = removal;
    this.patience = patience;
  }

  /** The same for another home. */
  Recovery of(Home other) {
    return new Recovery(other, emptyWait, removal, patience, isHurried);
  }

  /** One thing a dead instance left, and what became of it. */
  public record Finding(String instance, Kind kind, String subject, Fate fate) {}

  /** What became of a finding. */
  public sealed interface Fate {
    /** For people, and for programs that only look for one of them. */
    default String word() {
      return switch (this) {
        case Absent _ -> "gone";
        case Released _ -> "released";
        case Planned _ -> "would release";
        case Kept _ -> "kept for the next daemon";
        case Stuck _ -> "stuck";
        case Missing _ -> "missing";
        case Left _ -> "left alone";
      };
    }

    /** Why, where that is not plain. */
    default String reason() {
      return switch (this) {
        case Absent _, Released _, Planned _, Kept _ -> "";
        case Stuck(var reason) -> reason;
        case Missing() -> "its box lives without it";
        case Left(var reason) -> reason;
      };
    }

    /** In one line. */
    default String describe() {
      return reason().isEmpty() ? word() : word() + ": " + reason();
    }

    /** Was gone already. */
    record Absent() implements Fate {}

    record Released() implements Fate {}

    /** A dry run leaves it. */
    record Planned() implements Fate {}

    record Stuck(String reason) implements Fate {}

    /** Of a detached box: the next daemon adopts it. */
    record Kept() implements Fate {}

    /** On the ledger for a box that lives, and not on the host. */
    record Missing() implements Fate {}

    /** Where nothing should be, but not ours to remove. */
    record Left(String reason) implements Fate {}
  }

  /** What may become of detached boxes. */
  public enum Detached {
    KEEP,
    RELEASE
  }

  /** Releases everything attached that belongs to nobody alive; a dry run only tells. */
  public List<Finding> recover(boolean dryRun) throws KernelException, IOException {
    return recover(dryRun, Detached.KEEP);
  }

  /** Releases everything that belongs to nobody alive; a dry run only tells. */
  public List<Finding> recover(boolean dryRun, Detached which) throws KernelException, IOException {
    var findings = new ArrayList<Finding>();
    try (var scope = new Scope()) {
      for (DeadInstance listed : home.claimDead(scope, Recovery::isAlive)) {
        DeadInstance dead = Traces.look(home).addTo(listed);
        Set<String> kept = which == Detached.KEEP ? dead.detached() : Set.of();
        findings.addAll(
            kept.isEmpty() ? recoverAll(dead, dryRun) : recoverSome(dead, kept, dryRun));
      }
    }
    return findings;
  }

  /** A description may be damaged. */
  private static boolean isAlive(String process) {
    return ProcessRef.parseIfWhole(process).filter(ProcessRef::isAlive).isPresent();
  }

  /**
   * Releases what is left of instances of this home whose directory somebody removed; a dry run
   * only tells. One whose process lives is left alone.
   */
  public List<Finding> recoverLost(boolean dryRun) throws KernelException, IOException {
    Traces traces = Traces.look(home);
    var findings = new ArrayList<Finding>();
    for (String id : traces.withoutDirectory()) {
      Path directory = home.directory(id);
      // RACE: one that ends orderly meanwhile has neither cgroups nor claims before its directory
      // goes, and none is made by a name that was there.
      if (home.isInUse(directory)) {
        var left = new Fate.Left("its directory is gone, but its process lives");
        findings.add(new Finding(id, Kind.DIRECTORY, directory.toString(), left));
      } else {
        findings.addAll(
            releaseLost(
                traces.addTo(new DeadInstance(id, directory, true, List.of())), traces, dryRun));
      }
    }
    return findings;
  }

  private List<Finding> releaseLost(DeadInstance lost, Traces traces, boolean dryRun)
      throws KernelException, IOException {
    List<UidClaims.Claim> claims = home.claims().of(lost.directory());
    var findings = new ArrayList<>(release(withProcesses(lost, traces), dryRun));
    boolean isStuck = findings.stream().anyMatch(each -> each.fate() instanceof Fate.Stuck);
    if (!isStuck && !dryRun) {
      home.releaseClaims(lost.directory());
    }
    for (UidClaims.Claim claim : claims) {
      Fate fate = isStuck ? new Fate.Stuck("kept while something of it remains") : done(dryRun);
      findings.add(new Finding(lost.id(), Kind.USER, Integer.toString(claim.uid()), fate));
    }
    findings.removeIf(each -> each.fate() instanceof Fate.Absent);
    return findings;
  }

  private static Fate done(boolean dryRun) {
    return dryRun ? new Fate.Planned() : new Fate.Released();
  }

  private static DeadInstance withProcesses(DeadInstance dead, Traces traces) throws IOException {
    var all = new ArrayList<>(dead.holdings());
    all.addAll(traces.processes(dead));
    return new DeadInstance(dead.id(), dead.directory(), dead.sameBoot(), all);
  }

  /** What removed homes left, unless a process uses it. */
  public List<Finding> releaseRemovedHomes(boolean dryRun) throws KernelException, IOException {
    return new RemovedHomes(home).release(dryRun);
  }

  private List<Finding> recoverAll(DeadInstance dead, boolean dryRun) throws IOException {
    var findings = new ArrayList<>(release(dead.withUnlisted(), dryRun));
    findings.add(
        new Finding(
            dead.id(),
            Kind.DIRECTORY,
            dead.directory().toString(),
            dryRun ? new Fate.Planned() : forget(dead, findings)));
    return findings;
  }

  /** What boxes have in common stays with those that are kept. */
  private List<Finding> recoverSome(DeadInstance dead, Set<String> kept, boolean dryRun) {
    var findings =
        new ArrayList<>(
            release(
                dead.only(held -> !held.box().isEmpty() && !kept.contains(held.box())), dryRun));
    dead.holdings().stream()
        .filter(held -> held.kind() == Kind.RECORD && kept.contains(held.box()))
        .map(held -> new Finding(dead.id(), held.kind(), held.subject(), new Fate.Kept()))
        .forEach(findings::add);
    return findings;
  }

  /** Releases what {@code dead} lists, but not the instance itself. */
  public List<Finding> release(DeadInstance dead, boolean dryRun) {
    var findings = new ArrayList<Finding>();
    // ORDER: whoever could enter a cgroup ends first, then whoever is in one, in all of them: v1
    // knows no cgroup.kill. Then the cgroups go, the latest first.
    List<Holding> latestFirst = dead.holdings().reversed();
    for (Holding holding : latestFirst) {
      if (holding.kind() == Kind.PROCESS) {
        findings.add(recover(dead, holding, dryRun));
      }
    }
    if (!dryRun) {
      endMembers(cgroups(dead));
    }
    for (Holding holding : latestFirst) {
      if (holding.kind() != Kind.PROCESS) {
        findings.add(recover(dead, holding, dryRun));
      }
    }
    return findings;
  }

  private Finding recover(DeadInstance dead, Holding holding, boolean dryRun) {
    Fate fate = dryRun ? plan(dead, holding) : release(dead, holding);
    return new Finding(dead.id(), holding.kind(), holding.subject(), fate);
  }

  private static List<Cgroup> cgroups(DeadInstance dead) {
    return dead.holdings().stream()
        .filter(holding -> holding.kind() == Kind.CGROUP)
        .filter(holding -> plan(dead, holding) instanceof Fate.Planned)
        .map(holding -> new Cgroup(Path.of(holding.subject())))
        .toList();
  }

  /** Removes a cgroup that is known to be ours, with whoever is in it; a dry run only tells. */
  Fate release(Path cgroup, boolean dryRun) {
    if (Files.notExists(cgroup)) {
      return new Fate.Absent();
    }
    if (dryRun) {
      return new Fate.Planned();
    }
    try {
      Step.SWEEP_CGROUP.reach();
      endMembers(List.of(new Cgroup(cgroup)));
      remove(new Cgroup(cgroup));
      return new Fate.Released();
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }

  /** A leftover is no leak of the removal's: it is killed first, and then removed in silence. */
  private void endMembers(List<Cgroup> cgroups) {
    Deadline deadline = Deadline.in(patience);
    cgroups.forEach(cgroup -> attempt(cgroup::thaw));
    List<Cgroup> version2 = cgroups.stream().filter(Cgroup::isVersion2).toList();
    version2.forEach(cgroup -> attempt(() -> kill(cgroup)));
    version2.forEach(cgroup -> attempt(() -> awaitEmpty(cgroup, deadline)));
  }

  private void awaitEmpty(Cgroup cgroup, Deadline deadline)
      throws KernelException, InterruptedException {
    while (!emptyWait.await(cgroup, deadline.sooner(SLICE))) {
      if (deadline.isOver() || isHurried.getAsBoolean()) {
        return;
      }
    }
  }

  private static void kill(Cgroup cgroup) throws KernelException {
    Step.RECOVER_MEMBERS.reach();
    cgroup.kill();
  }

  private interface Attempt {
    void run() throws KernelException, InterruptedException;
  }

  /** A failure here is named by the removal, which tries again. */
  private static void attempt(Attempt attempt) {
    try {
      attempt.run();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=recovery_step_failed reason=\"{0}\" ignoring", e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Fate plan(DeadInstance dead, Holding holding) {
    boolean exists =
        switch (holding.kind()) {
          case PROCESS -> dead.sameBoot() && lives(session(holding));
          case CGROUP ->
              dead.sameBoot() && canBeOf(dead, holding) && Files.exists(Path.of(holding.subject()));
          case DIRECTORY ->
              logs(dead, holding).map(LogDirectory::path).filter(Files::exists).isPresent();
          // It lies in the directory.
          case USER, DESCRIPTOR, RECORD, SOCKET, MOUNT -> false;
        };
    return exists ? new Fate.Planned() : new Fate.Absent();
  }

  private Fate release(DeadInstance dead, Holding holding) {
    if (plan(dead, holding) instanceof Fate.Absent absent) {
      return absent;
    }
    try {
      switch (holding.kind()) {
        case PROCESS -> end(session(holding));
        case CGROUP -> remove(new Cgroup(Path.of(holding.subject())));
        case DIRECTORY -> {
          Step.RECOVER_LOGS.reach();
          logs(dead, holding).orElseThrow().remove();
        }
        case USER, DESCRIPTOR, RECORD, SOCKET, MOUNT -> {}
      }
      return new Fate.Released();
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }

  /**
   * SAFETY: only what the instance can have made, whatever a ledger says: what bears its own name,
   * and what lies right below that and bears its box's.
   */
  private static boolean canBeOf(DeadInstance dead, Holding holding) {
    Path path = Path.of(holding.subject());
    Path parent = path.getParent();
    if (!path.isAbsolute() || !path.equals(path.normalize()) || parent == null) {
      return false;
    }
    String name = String.valueOf(path.getFileName());
    return holding.box().isEmpty()
        ? name.equals(dead.id()) || name.equals(dead.id() + "-self")
        : dead.id().equals(String.valueOf(parent.getFileName()))
            && (name.equals(holding.box()) || name.equals(holding.box() + "-lane"));
  }

  /** SAFETY: only what lies where the instance keeps such things, and leads nowhere else. */
  private static Optional<LogDirectory> logs(DeadInstance dead, Holding holding) {
    var logs = new LogDirectory(Path.of(holding.subject()));
    return Optional.of(logs)
        .filter(found -> dead.directory().equals(found.path().getParent()))
        .filter(found -> !Files.isSymbolicLink(found.path()));
  }

  /**
   * A process and whatever it began a box with: of a bwrap killed in the middle of its work the
   * child can be blocked for ever, and without cgroups nothing else finds it.
   */
  private static Session session(Holding holding) {
    return new Session(ProcessRef.parse(holding.subject()), holding.box());
  }

  private static boolean lives(Session session) {
    return session.leader().isAlive() || !session.members().isEmpty();
  }

  private static boolean isKilled(Session session) throws KernelException {
    session.kill();
    return !lives(session);
  }

  private void end(Session session) throws KernelException {
    Step.RECOVER_PROCESS.reach();
    // ORDER: the leader first, because it could add to the others.
    session.leader().signal(Signal.KILL);
    Deadline.in(patience).until(RETRY, () -> isKilled(session) || isHurried.getAsBoolean());
    if (lives(session)) {
      throw stuck(StuckProcess.in(session.leader().pid()));
    }
  }

  private static KernelException stuck(StuckProcess process) {
    return new KernelException(
        "end process " + process.pid() + ", " + process.describe(), Errno.EBUSY);
  }

  /** Members were killed before; whoever is left is stuck, and waiting longer helps nobody. */
  private void remove(Cgroup cgroup) throws KernelException {
    Step.RECOVER_CGROUP.reach();
    List<Integer> left = members(cgroup);
    if (!left.isEmpty()) {
      throw stuck(StuckProcess.of(left.getFirst()));
    }
    for (Cgroup each : cgroup.bottomUp()) {
      removal.remove(each);
    }
  }

  /** None if they cannot be told: then rmdir says whether there is one. */
  private static List<Integer> members(Cgroup cgroup) {
    try {
      return cgroup.allProcs();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=members_unknown, ignoring reason=\"{0}\"", e.getMessage());
      return List.of();
    }
  }

  private Fate forget(DeadInstance dead, List<Finding> findings) {
    for (Finding finding : findings) {
      if (finding.fate() instanceof Fate.Stuck) {
        return new Fate.Stuck("kept while something of it remains");
      }
    }
    try {
      Step.FORGET_DEAD.reach();
      home.remove(dead.directory());
      return new Fate.Released();
    } catch (KernelException | IOException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }
}
