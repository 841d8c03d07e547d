package dev.ebb.supervision;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Home;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * Temporary homes, {@code side/*} in a home. When the process that made one has ended, it is
 * removed with its daemon and all its boxes. That process holds the lock of the directory while it
 * lives.
 */
public final class SideHomes {
  private static final int ID_BYTES = 4;

  /** How long a daemon may take to end its boxes. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Duration LOOK_AGAIN = Duration.ofMillis(10);

  private final Path directory;
  private final Recovery recovery;

  public SideHomes(Home home, Recovery recovery) {
    directory = home.path().resolve("side");
    this.recovery = recovery;
  }

  /** Makes a home that counts as alive while {@code scope} is open. */
  public Path create(Scope scope) throws KernelException {
    while (true) {
      makeDirectory(directory);
      try (var brief = new Scope()) {
        lock(brief);
        Path made = directory.resolve(HexFormat.of().formatHex(Self.randomBytes(ID_BYTES)));
        Filesystem.mkdir(made, 0700);
        Fd held = open(scope, made);
        Filesystem.lock(held);
        // RACE: an operator may remove all of it at any time.
        if (isDirectory(made)) {
          return made;
        }
        scope.release(held);
      } catch (KernelException e) {
        // RACE: the removal of the last home also removes the directory.
        if (!e.is(Errno.ENOENT)) {
          throw e;
        }
      }
    }
  }

  private static void makeDirectory(Path path) throws KernelException {
    try {
      Filesystem.mkdir(path, 0700);
    } catch (KernelException e) {
      if (!e.is(Errno.EEXIST)) {
        throw e;
      }
    }
  }

  /**
   * RACE: homes are made and claimed, and the directory is removed, under this lock only. So no
   * process takes a new home for dead. A lock of a directory that was replaced meanwhile protects
   * nothing: other processes lock the new one.
   */
  private void lock(Scope scope) throws KernelException {
    while (true) {
      Fd held = open(scope, directory);
      Filesystem.lock(held);
      if (isCurrent(held)) {
        return;
      }
      scope.release(held);
    }
  }

  private boolean isCurrent(Fd held) throws KernelException {
    try (var brief = new Scope()) {
      return FileStatus.of(held).isSameFileAs(FileStatus.of(open(brief, directory)));
    }
  }

  private static Fd open(Scope scope, Path path) throws KernelException {
    return Fd.open(scope, path, Fd.Flag.READ, Fd.Flag.DIRECTORY, Fd.Flag.NOFOLLOW);
  }

  /** Removes the homes of dead processes, with all that they hold; a dry run only reports. */
  public List<Recovery.Finding> recover(boolean dryRun) throws KernelException, IOException {
    var findings = new ArrayList<Recovery.Finding>();
    if (isDirectory(directory)) {
      try (var scope = new Scope()) {
        for (Path dead : claimDead(scope)) {
          findings.addAll(dryRun ? plan(dead) : remove(dead));
        }
      }
      removeIfEmpty();
    }
    return findings;
  }

  /** Removes all homes; the home of a living process is reported as stuck. */
  public List<Recovery.Finding> removeAll() throws KernelException, IOException {
    var findings = new ArrayList<>(recover(false));
    if (Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
      findings.add(
          finding(directory, new Recovery.Fate.Stuck("a living process has a home there")));
    }
    return findings;
  }

  private List<Path> claimDead(Scope scope) throws KernelException, IOException {
    var dead = new ArrayList<Path>();
    try (var brief = new Scope()) {
      lock(brief);
      for (Path each : directories()) {
        claim(scope, each).ifPresent(dead::add);
      }
    } catch (KernelException e) {
      if (!e.is(Errno.ENOENT)) {
        throw e;
      }
    }
    return dead;
  }

  private List<Path> directories() throws IOException {
    try (var entries = Files.list(directory)) {
      // SAFETY: a link may lead to files that are not ours.
      return entries.filter(SideHomes::isDirectory).sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private static boolean isDirectory(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
  }

  /** RACE: another process may remove the home without the lock, between any two of these lines. */
  private static Optional<Path> claim(Scope scope, Path path) throws KernelException {
    try {
      Fd lock = open(scope, path);
      if (Filesystem.tryLock(lock) && isDirectory(path)) {
        return Optional.of(path);
      }
      scope.release(lock);
    } catch (KernelException e) {
      if (!e.is(Errno.ENOENT)) {
        throw e;
      }
    }
    return Optional.empty();
  }

  private List<Recovery.Finding> plan(Path path) throws KernelException, IOException {
    var findings =
        new ArrayList<>(recovery.of(Home.open(path)).recover(true, Recovery.Detached.RELEASE));
    findings.add(finding(path, new Recovery.Fate.Planned()));
    return findings;
  }

  /** Removes a home that is ours, or that we claimed. */
  public List<Recovery.Finding> remove(Path path) throws KernelException, IOException {
    Home home = Home.open(path);
    var purge = new Purge(home, recovery.of(home));
    Optional<ProcessRef> late = end(purge);
    if (late.isPresent()) {
      return List.of(finding(path, stuck("its daemon, pid " + late.get().pid() + ", lives on")));
    }
    Purge.Outcome outcome = purge.run();
    var findings = new ArrayList<>(outcome.findings());
    findings.add(finding(path, fate(outcome)));
    removeIfEmpty();
    return findings;
  }

  private static Recovery.Fate fate(Purge.Outcome outcome) {
    if (outcome.isStuck()) {
      return stuck("kept while something of it remains");
    }
    return outcome.kept().isEmpty()
        ? new Recovery.Fate.Released()
        : stuck("it holds files that are not Ebb's: " + outcome.kept().getFirst());
  }

  private static Recovery.Fate stuck(String reason) {
    return new Recovery.Fate.Stuck(reason);
  }

  private Recovery.Finding finding(Path path, Recovery.Fate fate) {
    String name = directory.getParent() == null ? "" : directory.getParent().relativize(path) + "";
    return new Recovery.Finding(name, Kind.DIRECTORY, path.toString(), fate);
  }

  /** Asks the daemon of a home to end; returns the daemon if it still lives after that. */
  private static Optional<ProcessRef> end(Purge purge) throws KernelException, IOException {
    Optional<ProcessRef> daemon = purge.daemon();
    if (daemon.isPresent()) {
      purge.end(daemon.get());
      Deadline.in(PATIENCE).until(LOOK_AGAIN, () -> !daemon.get().isAlive());
    }
    return daemon.filter(ProcessRef::isAlive);
  }

  private void removeIfEmpty() throws KernelException {
    try (var brief = new Scope()) {
      lock(brief);
      Filesystem.rmdirIfPresent(directory);
    } catch (KernelException e) {
      if (!e.is(Errno.ENOENT) && !e.is(Errno.ENOTEMPTY) && !e.is(Errno.EEXIST)) {
        throw e;
      }
    }
  }
}
