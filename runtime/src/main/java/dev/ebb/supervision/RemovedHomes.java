package dev.ebb.supervision;

import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Subtrees;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.store.Home;
import dev.ebb.store.UidClaims;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Resources that other homes left on the host when they were removed: cgroups and claims of uids.
 *
 * <p>SAFETY: nothing is killed. An instance is left alone as a whole while a process is in one of
 * its cgroups, runs as one of its uids, or has its lock open: its home may only be out of our
 * sight, in a container say.
 */
final class RemovedHomes {
  private final Home home;
  private final Subtrees subtrees;
  private final Set<Integer> uids = ProcFs.uids();
  private final Set<String> held;

  RemovedHomes(Home home) throws KernelException {
    this.home = home;
    subtrees = Subtrees.find();
    held = Home.heldInstances();
  }

  /** Gives back what no process uses; a dry run only reports. */
  List<Finding> release(boolean dryRun) throws KernelException, IOException {
    var findings = new ArrayList<Finding>();
    for (var each : instances().entrySet()) {
      findings.addAll(release(each.getKey(), each.getValue(), dryRun));
    }
    return findings;
  }

  /** The directories of instances that are gone with their home, and what each has claimed. */
  private Map<Path, List<UidClaims.Claim>> instances() throws IOException {
    var found = new TreeMap<Path, List<UidClaims.Claim>>();
    for (UidClaims.Claim claim : home.claims().abandoned()) {
      found.computeIfAbsent(claim.instance(), _ -> new ArrayList<>()).add(claim);
    }
    for (String instance : subtrees.instances()) {
      for (Path cgroup : subtrees.of(instance)) {
        markedFor(cgroup, instance)
            .filter(directory -> Files.notExists(directory, LinkOption.NOFOLLOW_LINKS))
            .ifPresent(directory -> found.computeIfAbsent(directory, _ -> new ArrayList<>()));
      }
    }
    // This home recovers its own instances more thoroughly.
    found.keySet().removeIf(home::isPlaceOf);
    return found;
  }

  private static Optional<Path> markedFor(Path cgroup, String instance) {
    return Subtrees.homeOf(cgroup)
        .flatMap(Home::pathOf)
        .map(path -> Home.directory(path, instance));
  }

  private List<Finding> release(Path directory, List<UidClaims.Claim> claims, boolean dryRun)
      throws KernelException, IOException {
    String instance = String.valueOf(directory.getFileName());
    List<Cgroup> cgroups = cgroups(directory, instance, !claims.isEmpty());
    boolean isUsed =
        held.contains(instance)
            || claims.stream().anyMatch(claim -> uids.stream().anyMatch(claim::has))
            || hasMember(cgroups);
    if (isUsed) {
      return List.of();
    }
    var findings = new ArrayList<Finding>();
    for (Cgroup cgroup : cgroups) {
      findings.add(
          finding(instance, Kind.CGROUP, cgroup.path().toString(), remove(cgroup, dryRun)));
    }
    // ORDER: a claim leads to the cgroups, so it goes after them.
    boolean isStuck = findings.stream().anyMatch(each -> each.fate() instanceof Fate.Stuck);
    for (UidClaims.Claim claim : claims) {
      if (!dryRun && !isStuck) {
        home.claims().remove(claim);
      }
      Fate fate = isStuck ? new Fate.Stuck("kept with its cgroups") : done(dryRun);
      findings.add(finding(instance, Kind.USER, Integer.toString(claim.uid()), fate));
    }
    return findings;
  }

  /**
   * SAFETY: a cgroup without a mark, made by an earlier Ebb, belongs to the instance only by a
   * claim.
   */
  private List<Cgroup> cgroups(Path directory, String instance, boolean isClaimed) {
    return subtrees.of(instance).stream()
        .filter(
            path ->
                Subtrees.homeOf(path).isPresent()
                    ? markedFor(path, instance).filter(directory::equals).isPresent()
                    : isClaimed)
        .map(Cgroup::new)
        .toList();
  }

  private static boolean hasMember(List<Cgroup> cgroups) throws KernelException {
    for (Cgroup cgroup : cgroups) {
      if (cgroup.exists() && !cgroup.allProcs().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  /** RACE: a cgroup that a process has entered meanwhile is busy, and stays. */
  private static Fate remove(Cgroup cgroup, boolean dryRun) {
    try {
      if (!dryRun) {
        Step.SWEEP_CGROUP.reach();
        for (Cgroup each : cgroup.bottomUp()) {
          var _ = Filesystem.rmdirIfPresent(each.path());
        }
      }
      return done(dryRun);
    } catch (KernelException e) {
      return new Fate.Stuck(String.valueOf(e.getMessage()));
    }
  }

  private static Fate done(boolean dryRun) {
    return dryRun ? new Fate.Planned() : new Fate.Released();
  }

  private static Finding finding(String instance, Kind kind, String subject, Fate fate) {
    return new Finding(instance, kind, subject, fate);
  }
}
