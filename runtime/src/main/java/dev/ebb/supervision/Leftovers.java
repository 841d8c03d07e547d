package dev.ebb.supervision;

import dev.ebb.box.Strangers;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.model.StuckProcess;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import dev.ebb.process.StuckProcesses;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.LogDirectory;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Ends what the ledger of a dead instance lists: its processes, the members of its cgroups, the
 * cgroups, the logs. It kills and removes only what that instance can have made.
 */
final class Leftovers {
  private static final Logger LOG = System.getLogger(Leftovers.class.getName());
  private static final Duration SLICE = Duration.ofMillis(100);
  private static final Duration RETRY = Duration.ofMillis(1);

  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;
  private final Strangers strangers;
  private final Duration patience;
  private final BooleanSupplier isHurried;

  /**
   * Makes nothing.
   *
   * @param patience how long killed processes may take to be gone, before they are called stuck
   * @param isHurried whether to stop waiting
   */
  Leftovers(
      EmptyWait emptyWait,
      CgroupRemoval removal,
      Strangers strangers,
      Duration patience,
      BooleanSupplier isHurried) {
    this.emptyWait = emptyWait;
    this.removal = removal;
    this.strangers = strangers;
    this.patience = patience;
    this.isHurried = isHurried;
  }

  /** Releases what {@code dead} lists, but not the instance itself. */
  List<Finding> release(DeadInstance dead, boolean dryRun) {
    var findings = new ArrayList<Finding>();
    // ORDER: processes that could enter a cgroup end first, then the members of all cgroups: v1
    // knows no cgroup.kill. Then the cgroups go, the latest first.
    List<Holding> latestFirst = dead.holdings().reversed();
    for (Holding holding : latestFirst) {
      if (holding.kind() == Kind.PROCESS) {
        findings.add(recover(dead, holding, dryRun));
      }
    }
    if (!dryRun) {
      findings.addAll(strangers(dead));
      endMembers(cgroups(dead));
    }
    for (Holding holding : latestFirst) {
      if (holding.kind() != Kind.PROCESS) {
        findings.add(recover(dead, holding, dryRun));
      }
    }
    return findings;
  }

  /** ORDER: the processes of the boxes were killed before, so any other process is a stranger. */
  private List<Finding> strangers(DeadInstance dead) {
    return dead.holdings().stream()
        .filter(held -> held.kind() == Kind.CGROUP && !held.box().isEmpty())
        .filter(held -> plan(dead, held) instanceof Fate.Planned)
        .flatMap(held -> strangers(new Cgroup(Path.of(held.subject())), held.box()).stream())
        .map(each -> new Finding(dead.id(), Kind.PROCESS, each.toString(), new Fate.Released()))
        .toList();
  }

  /** Recovery kills no members of version 1 cgroups. */
  private List<ProcessRef> strangers(Cgroup cgroup, String box) {
    return cgroup.isVersion2() ? strangers.lookAmong(members(cgroup), box) : List.of();
  }

  /** Returns the box of a cgroup by its path, which may be that of a command. */
  private static String boxOf(Path cgroup) {
    String name = String.valueOf(cgroup.getFileName());
    int depth = cgroup.getNameCount();
    return name.matches("\\d+") && depth > 2 ? cgroup.getName(depth - 3).toString() : name;
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

  /** Removes a cgroup that is known to be Ebb's, with its members; a dry run only reports. */
  Fate release(Path cgroup, boolean dryRun) {
    if (Files.notExists(cgroup)) {
      return new Fate.Absent();
    }
    if (dryRun) {
      return new Fate.Planned();
    }
    try {
      Step.SWEEP_CGROUP.reach();
      var _ = strangers(new Cgroup(cgroup), boxOf(cgroup));
      endMembers(List.of(new Cgroup(cgroup)));
      remove(new Cgroup(cgroup));
      return new Fate.Released();
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }

  /** A leftover does not count as a leak: it is killed first, then removed silently. */
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

  /** The removal tries again, and reports a failure. */
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
   * SAFETY: only cgroups that the instance can have made, whatever a ledger says: those with its
   * name, and those directly below with the name of its box.
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

  /** SAFETY: only paths in the directory where the instance keeps such files, without links. */
  private static Optional<LogDirectory> logs(DeadInstance dead, Holding holding) {
    var logs = new LogDirectory(Path.of(holding.subject()));
    return Optional.of(logs)
        .filter(found -> dead.directory().equals(found.path().getParent()))
        .filter(found -> !Files.isSymbolicLink(found.path()));
  }

  /**
   * Ends a process and its session: the child of a killed bwrap can be blocked forever, and without
   * cgroups nothing else finds it.
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
    // ORDER: the leader first, because it could start more.
    session.leader().signal(Signal.KILL);
    Deadline.in(patience).until(RETRY, () -> isKilled(session) || isHurried.getAsBoolean());
    if (lives(session)) {
      throw stuck(StuckProcesses.findIn(session.leader().pid()));
    }
  }

  private static KernelException stuck(StuckProcess process) {
    return new KernelException(
        "end process " + process.pid() + ", " + process.describe(), Errno.EBUSY);
  }

  /** Members were killed before; a remaining process is stuck, and a longer wait does not help. */
  private void remove(Cgroup cgroup) throws KernelException {
    Step.RECOVER_CGROUP.reach();
    List<Integer> left = members(cgroup);
    if (!left.isEmpty()) {
      throw stuck(StuckProcesses.describe(left.getFirst()));
    }
    for (Cgroup each : cgroup.bottomUp()) {
      removal.remove(each);
    }
  }

  /** Returns no members if they cannot be listed: rmdir then shows whether there are any. */
  private static List<Integer> members(Cgroup cgroup) {
    try {
      return cgroup.allProcs();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=members_unknown, ignoring reason=\"{0}\"", e.getMessage());
      return List.of();
    }
  }
}
