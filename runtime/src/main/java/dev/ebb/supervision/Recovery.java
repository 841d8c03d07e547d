package dev.ebb.supervision;

import dev.ebb.box.Strangers;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.Certificate;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Home;
import dev.ebb.store.UidClaims;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Releases what dead instances left behind. Re-entrant: the next recovery finds what a crash of
 * this one left.
 */
public final class Recovery {
  private final Home home;
  private final Leftovers leftovers;
  private final Map<String, Certificate> certificates = new LinkedHashMap<>();

  /**
   * Looks after a home.
   *
   * @param patience how long killed processes may take to be gone, before they are called stuck
   */
  public Recovery(
      Home home,
      EmptyWait emptyWait,
      CgroupRemoval removal,
      Strangers strangers,
      Duration patience) {
    this(home, emptyWait, removal, strangers, patience, () -> false);
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
      Strangers strangers,
      Duration patience,
      BooleanSupplier isHurried) {
    this(home, new Leftovers(emptyWait, removal, strangers, patience, isHurried));
  }

  private Recovery(Home home, Leftovers leftovers) {
    this.home = home;
    this.leftovers = leftovers;
  }

  /** Returns the recovery of another home, with the same settings. */
  Recovery of(Home other) {
    return new Recovery(other, leftovers);
  }

  /** A resource that a dead instance left, and what recovery did about it. */
  public record Finding(String instance, Kind kind, String subject, Fate fate) {}

  /**
   * Returns what was released of each box, by id, for findings about what {@code lists} holds.
   *
   * @param took how long the release of all of them took
   */
  private static Map<String, Certificate> certify(
      List<Finding> findings, List<Holding> lists, Duration took) {
    var boxes = new LinkedHashMap<String, List<Finding>>();
    for (Holding holding : lists) {
      if (!holding.box().isEmpty()) {
        var found = boxes.computeIfAbsent(holding.box(), _ -> new ArrayList<>());
        findings.stream()
            .filter(each -> each.kind() == holding.kind())
            .filter(each -> each.subject().equals(holding.subject()))
            .findFirst()
            .ifPresent(found::add);
      }
    }
    var certificates = new LinkedHashMap<String, Certificate>();
    boxes.forEach((box, found) -> certificates.put(box, certify(box, found, took)));
    return certificates;
  }

  private static Certificate certify(String box, List<Finding> findings, Duration took) {
    var held = new EnumMap<Kind, Integer>(Kind.class);
    var released = new EnumMap<Kind, Integer>(Kind.class);
    var stuck = new ArrayList<Certificate.Stuck>();
    for (Finding each : findings) {
      held.merge(each.kind(), 1, Integer::sum);
      if (each.fate() instanceof Fate.Stuck(var reason)) {
        stuck.add(new Certificate.Stuck(each.kind(), each.subject(), reason));
      } else {
        released.merge(each.kind(), 1, Integer::sum);
      }
    }
    return new Certificate(box, held, released, stuck, took);
  }

  /** Returns what was released of the boxes of dead instances by this object, by box. */
  public Map<String, Certificate> certificates() {
    return Map.copyOf(certificates);
  }

  /** What recovery did about a finding. */
  public sealed interface Fate {
    /** Returns its name, for people and for programs. */
    default String wireName() {
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

    /** Returns the reason, where that is not plain. */
    default String reason() {
      return switch (this) {
        case Absent _, Released _, Planned _, Kept _ -> "";
        case Stuck(var reason) -> reason;
        case Missing() -> "its box lives without it";
        case Left(var reason) -> reason;
      };
    }

    /** Formats it as one line. */
    default String describe() {
      return reason().isEmpty() ? wireName() : wireName() + ": " + reason();
    }

    /** It was gone already. */
    record Absent() implements Fate {}

    record Released() implements Fate {}

    /** A dry run leaves it. */
    record Planned() implements Fate {}

    record Stuck(String reason) implements Fate {}

    /** It belongs to a detached box: the next daemon adopts it. */
    record Kept() implements Fate {}

    /** It is on the ledger for a box that lives, and not on the host. */
    record Missing() implements Fate {}

    /** It should not be there, but Ebb may not remove it. */
    record Left(String reason) implements Fate {}
  }

  /** How recovery treats detached boxes. */
  public enum Detached {
    KEEP,
    RELEASE
  }

  /** Releases what dead instances left attached; a dry run only reports. */
  public List<Finding> recover(boolean dryRun) throws KernelException, IOException {
    return recover(dryRun, Detached.KEEP);
  }

  /** Releases what dead instances left; a dry run only reports. */
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
   * Releases what is left of instances of this home without a directory; a dry run only reports. An
   * instance with a living process is left alone.
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

  /** Releases what removed homes left, unless a process uses it. */
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

  /** Keeps what boxes share if a box is kept. */
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

  /** Releases what {@code dead} lists, but not the instance itself; a dry run only reports. */
  public List<Finding> release(DeadInstance dead, boolean dryRun) {
    long begun = System.nanoTime();
    List<Finding> findings = leftovers.release(dead, dryRun);
    if (!dryRun) {
      var took = Duration.ofNanos(System.nanoTime() - begun);
      certificates.putAll(certify(findings, dead.holdings(), took));
    }
    return findings;
  }

  /** Removes a cgroup that is known to be ours, with its members; a dry run only reports. */
  Fate release(Path cgroup, boolean dryRun) {
    return leftovers.release(cgroup, dryRun);
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
