package dev.ebb.store;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The instances of a home whose lock is free, so their process is dead.
 *
 * <p>RACE: instances are made and claimed under the home's lock only, so one that is just being
 * made is never taken for dead. But a lock may outlive its process for a moment.
 */
final class DeadInstances {
  /** How long a child of a dead process may take to close inherited descriptors. */
  private static final Duration LOCK_PATIENCE = Duration.ofSeconds(1);

  private static final Duration LOCK_RETRY = Duration.ofMillis(1);

  private final Home home;
  private final Predicate<String> isAlive;

  /**
   * Claims nothing yet.
   *
   * @param isAlive tests a process, as it was given to {@link Home#create}
   */
  DeadInstances(Home home, Predicate<String> isAlive) {
    this.home = home;
    this.isAlive = isAlive;
  }

  /** Claims all of them; they stay claimed as long as {@code scope} is open. */
  List<DeadInstance> claim(Scope scope) throws KernelException, IOException {
    var dead = new ArrayList<DeadInstance>();
    try (var brief = new Scope()) {
      home.lock(brief);
      for (Path directory : home.directories()) {
        claim(scope, directory).ifPresent(dead::add);
      }
    }
    return dead;
  }

  private Optional<DeadInstance> claim(Scope scope, Path directory)
      throws KernelException, IOException {
    Step.CLAIM.reach();
    Fd lock;
    try {
      lock = Instance.lockFile(scope, directory);
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT)) {
        return Optional.empty();
      }
      throw e;
    }
    Deadline deadline = Deadline.in(LOCK_PATIENCE);
    while (!Filesystem.tryLock(lock)) {
      // KERNEL: the lock belongs to the open file, which a child shares until it execs.
      if (isHeld(directory) || !deadline.pause(LOCK_RETRY)) {
        scope.release(lock);
        return Optional.empty();
      }
    }
    if (Instance.field(directory, "process").filter(isAlive).isPresent()
        && LockHolders.hasRemoved(directory.resolve("lock"))) {
      // SAFETY: the process lives and holds the lock of a removed file; this file is new.
      scope.release(lock);
      return Optional.empty();
    }
    return Optional.of(DeadInstance.read(directory, home.claims()));
  }

  /** Returns true when its process lives, or another process has claimed it. */
  private boolean isHeld(Path directory) throws KernelException, IOException {
    Optional<String> process = Instance.field(directory, "process");
    return process.map(isAlive::test).orElse(Boolean.TRUE)
        || lockHolder(directory)
            .filter(pid -> !process.orElseThrow().startsWith(pid + "@"))
            .isPresent();
  }

  /** KERNEL: the pid in /proc/locks is that of the process that took the lock, or 0. */
  private static Optional<String> lockHolder(Path directory) throws KernelException, IOException {
    String inode = ":" + Files.getAttribute(directory.resolve("lock"), "unix:ino");
    return Filesystem.read(Path.of("/proc/locks"))
        .lines()
        .map(line -> line.split(" +"))
        .filter(words -> words[1].equals("FLOCK") && words[5].endsWith(inode))
        .map(words -> words[4])
        .filter(pid -> !pid.equals("0"))
        .findFirst();
  }
}
