package dev.ebb.supervision;

import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Certificate;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.MountTable;
import dev.ebb.store.DeadInstance;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.stream.Stream;

/**
 * Compares the host with the ledger of a living instance, in both directions, and repairs
 * differences. In a healthy system it finds nothing.
 *
 * <p>No box waits for it: boxes are made and released meanwhile. The ledger names a thing from
 * before it is made until after it is gone, and no name is used twice; so a thing that is on the
 * host, then not on the ledger, then still on the host, is a stray. Likewise for lines that belong
 * to no box.
 */
public final class Audit {
  private final BoxHost host;
  private final Recovery recovery;
  private final Population population;

  /** The boxes that an engine knows. */
  public interface Population {
    Collection<Box> boxes();

    /** Returns the boxes that could be neither made nor unwound, and have no owner. */
    Collection<Box> unfinished();

    /** Ends one of the unfinished boxes. */
    Certificate release(Box unfinished);

    /** Returns whether the box exists, or is being made. */
    boolean isKnown(String box);
  }

  public Audit(BoxHost host, Recovery recovery, Population population) {
    this.host = host;
    this.recovery = recovery;
    this.population = population;
  }

  /** Compares everything once; a dry run only reports. */
  public List<Finding> run(boolean dryRun) throws KernelException, IOException {
    // ORDER: a process that could keep a cgroup busy ends before the cgroup is removed.
    var findings = new ArrayList<>(new StrayProcesses(host).end(dryRun));
    findings.addAll(unfinished(dryRun));
    var strays = new StrayFiles(host.instance(), host.hierarchies());
    for (StrayFiles.Stray place : strays.places()) {
      findings.add(finding(place.kind(), place.path().toString(), release(place, dryRun)));
    }
    for (Path leaf : leaves()) {
      findings.add(finding(Kind.CGROUP, leaf.toString(), recovery.release(leaf, dryRun)));
    }
    for (StrayFiles.Stray file : strays.files()) {
      findings.add(finding(file.kind(), file.path().toString(), remove(file.path(), dryRun)));
    }
    findings.addAll(ownerless(dryRun));
    findings.addAll(missing());
    findings.addAll(mounts());
    // A thing that vanished by itself meanwhile was no stray.
    findings.removeIf(finding -> finding.fate() instanceof Fate.Absent);
    return findings;
  }

  private Finding finding(Kind kind, String subject, Fate fate) {
    return new Finding(host.instance().id(), kind, subject, fate);
  }

  // --- on the host, and not on the ledger ---

  /** Cgroups of commands that have ended; a box that ends meanwhile removes them itself. */
  private List<Path> leaves() {
    return living().flatMap(box -> box.footprint().strayLeaves().stream()).toList();
  }

  private Stream<Box> living() {
    return population.boxes().stream().filter(box -> box.state().isAlive());
  }

  private Fate release(StrayFiles.Stray place, boolean dryRun) {
    if (place.kind() == Kind.CGROUP) {
      return recovery.release(place.path(), dryRun);
    }
    try {
      if (!dryRun) {
        Step.SWEEP_DIRECTORY.reach();
      }
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
    var lost = new Holding(0, "", place.kind(), place.path().toString());
    return recovery.release(instance(List.of(lost)), dryRun).getFirst().fate();
  }

  private DeadInstance instance(List<Holding> holdings) {
    return new DeadInstance(host.instance().id(), host.instance().directory(), true, holdings);
  }

  private static Fate remove(Path file, boolean dryRun) {
    try {
      if (!dryRun) {
        Step.SWEEP_FILE.reach();
        Filesystem.unlinkIfPresent(file);
      }
      return dryRun ? new Fate.Planned() : new Fate.Released();
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }

  /**
   * Finds mounts in the home. Ebb makes none on the host, so they are left: their owner may need
   * them.
   */
  private List<Finding> mounts() throws KernelException {
    return MountTable.below(host.instance().directory()).stream()
        .map(path -> finding(Kind.MOUNT, path.toString(), new Fate.Left("Ebb did not mount it")))
        .toList();
  }

  // --- on the ledger, and different on the host ---

  private List<Finding> unfinished(boolean dryRun) {
    var findings = new ArrayList<Finding>();
    for (Box box : population.unfinished()) {
      List<Holding> lines =
          ledger().holdings().stream().filter(held -> held.box().equals(box.id().value())).toList();
      List<Certificate.Stuck> stuck = dryRun ? List.of() : population.release(box).stuck();
      stuck.forEach(
          each ->
              findings.add(finding(each.kind(), each.subject(), new Fate.Stuck(each.reason()))));
      if (stuck.isEmpty()) {
        Fate fate = dryRun ? new Fate.Planned() : new Fate.Released();
        lines.forEach(line -> findings.add(finding(line.kind(), line.subject(), fate)));
      }
    }
    return findings;
  }

  /** Finds lines of boxes without an owner, for instance of a box that could not be unwound. */
  private List<Finding> ownerless(boolean dryRun) throws KernelException {
    var boxes = new LinkedHashSet<String>();
    ledger().holdings().forEach(held -> boxes.add(held.box()));
    boxes.remove("");
    boxes.removeIf(population::isKnown);
    var findings = new ArrayList<Finding>();
    for (String box : boxes) {
      // RACE: a box that was released in between has no line any more.
      DeadInstance left = instance(ledger().holdings()).only(held -> held.box().equals(box));
      // A detached box waits to be adopted.
      if (left.detached().isEmpty()) {
        findings.addAll(strike(left, dryRun));
      }
    }
    return findings;
  }

  private List<Finding> strike(DeadInstance left, boolean dryRun) throws KernelException {
    List<Finding> findings = recovery.release(left, dryRun);
    boolean isStuck = findings.stream().anyMatch(each -> each.fate() instanceof Fate.Stuck);
    if (!dryRun && !isStuck) {
      ledger().strike(left.holdings());
      left.holdings().stream()
          .filter(held -> held.kind() == Kind.USER)
          .forEach(held -> host.uids().giveBack(Integer.parseInt(held.subject())));
    }
    Fate struck = dryRun ? new Fate.Planned() : new Fate.Released();
    return findings.stream()
        .map(
            each ->
                each.fate() instanceof Fate.Absent
                    ? finding(each.kind(), each.subject(), isStuck ? each.fate() : struck)
                    : each)
        .toList();
  }

  /** Finds what a living box has lost; that can only be reported. */
  private List<Finding> missing() {
    var findings = new ArrayList<Finding>();
    for (Box box : living().toList()) {
      List<Finding> gone =
          Stream.concat(
                  missing(Kind.CGROUP, box.footprint().cgroups().stream()),
                  missing(Kind.DIRECTORY, box.footprint().directory().stream()))
              .toList();
      // RACE: all of it was made before the box lived, and goes only when its end has begun.
      if (box.state().isAlive()) {
        findings.addAll(gone);
      }
    }
    return findings;
  }

  private Stream<Finding> missing(Kind kind, Stream<Path> paths) {
    return paths
        .filter(Files::notExists)
        .map(path -> finding(kind, path.toString(), new Fate.Missing()));
  }

  private Ledger ledger() {
    return host.instance().ledger();
  }
}
