package dev.ebb.store;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Ledger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** Makes instances in a home, or takes over that of the last daemon. */
final class InstanceMaker {
  private static final int ID_BYTES = 4;

  /** The kind of an instance that ends with its process. */
  static final String GUEST = "guest";

  /** The kind of an instance that outlives its process. */
  static final String DAEMON = "daemon";

  private static final Duration RESUME_PATIENCE = Duration.ofSeconds(30);
  private static final Duration LOCK_RETRY = Duration.ofMillis(1);

  private final Home home;

  InstanceMaker(Home home) {
    this.home = home;
  }

  /**
   * Takes over the instance of the last daemon, unchanged; empty if there is none. Waits for
   * another process that is releasing its attached boxes.
   *
   * @param isOfThisBoot tests by the id of an instance whether the host shows that it is of this
   *     boot
   */
  Optional<Instance> resume(
      Scope scope, String process, UidRange uids, Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    Deadline deadline = Deadline.in(RESUME_PATIENCE);
    while (true) {
      // RACE: that process needs the home's lock to finish, so the lock is held only for each
      // check.
      try (var brief = new Scope()) {
        home.lock(brief);
        Optional<Path> left = ofDaemon(isOfThisBoot);
        if (left.isEmpty()) {
          return Optional.empty();
        }
        Fd held = Instance.lockFile(scope, left.get());
        if (Filesystem.tryLock(held)) {
          return Optional.of(resume(scope, left.get(), process, uids));
        }
        scope.release(held);
        if (deadline.isOver()) {
          throw new KernelException("take over the daemon's instance " + left.get(), Errno.EBUSY);
        }
      }
      deadline.pause(LOCK_RETRY);
    }
  }

  private Optional<Path> ofDaemon(Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    for (Path directory : home.directories()) {
      if (isOfDaemon(directory)
          && (isOfThisBoot(directory)
              || isOfThisBoot.test(String.valueOf(directory.getFileName())))) {
        return Optional.of(directory);
      }
    }
    return Optional.empty();
  }

  private Instance resume(Scope scope, Path directory, String process, UidRange uids)
      throws KernelException, IOException {
    int uid =
        home.claims().claimAgain(Instance.uid(directory), uids, uidsBeside(directory), directory);
    Step.RESUME_INSTANCE.reach();
    Instance.describe(directory, Home.bootId(), uid, process, DAEMON);
    Step.RESUME_LEDGER.reach();
    Ledger ledger = Ledger.resume(scope, directory.resolve("ledger"));
    return new Instance(String.valueOf(directory.getFileName()), directory, uid, ledger, true);
  }

  /** Returns the uids of the other instances of this home, dead or alive. */
  private Set<Integer> uidsBeside(Path directory) throws IOException {
    var taken = new HashSet<Integer>();
    for (Path other : home.directories()) {
      if (!other.equals(directory)) {
        Instance.uid(other).ifPresent(taken::add);
      }
    }
    return taken;
  }

  /** Decides by its description or, if that is lost, by its records. */
  private static boolean isOfDaemon(Path directory) throws IOException {
    Optional<String> kind = Instance.field(directory, "kind");
    return kind.isPresent() ? kind.get().equals(DAEMON) : hasRecord(directory);
  }

  private static boolean hasRecord(Path directory) throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.anyMatch(entry -> Files.exists(new LogDirectory(entry).recordFile()));
    }
  }

  /** Processes of an earlier boot are dead. */
  private boolean isOfThisBoot(Path directory) throws KernelException, IOException {
    return DeadInstance.isOfThisBoot(directory, home.claims());
  }

  /**
   * Makes an instance, alive while {@code scope} is open.
   *
   * @throws KernelException EUSERS if others have claimed all of {@code uids}
   */
  Instance create(Scope scope, String process, UidRange uids, String kind)
      throws KernelException, IOException {
    try (var brief = new Scope()) {
      home.lock(brief);
      String id = "ebb-" + HexFormat.of().formatHex(Self.randomBytes(ID_BYTES));
      Path directory = home.directory(id);
      Step.MAKE_INSTANCE.reach();
      Filesystem.mkdir(directory, 0700);
      try {
        Step.CLAIM_UIDS.reach();
        int uid = home.claims().claim(uids, uidsBeside(directory), directory);
        return fill(scope, directory, uid, process, kind);
      } catch (KernelException | IOException | RuntimeException e) {
        home.forget(directory);
        throw e;
      }
    }
  }

  private static Instance fill(Scope scope, Path directory, int uid, String process, String kind)
      throws KernelException, IOException {
    Step.DESCRIBE_INSTANCE.reach();
    Instance.describe(directory, Home.bootId(), uid, process, kind);
    Step.LOCK_INSTANCE.reach();
    Fd held = Instance.lockFile(scope, directory);
    Filesystem.lock(held);
    Step.BEGIN_LEDGER.reach();
    Ledger ledger = Ledger.create(scope, directory.resolve("ledger"));
    return new Instance(String.valueOf(directory.getFileName()), directory, uid, ledger, false);
  }
}
