package dev.ebb.store;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Ledger;
import dev.ebb.step.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The one directory under which all state lies: {@code lock}, {@code lib/} for ebb-init, and one
 * directory an instance.
 */
public final class Home {
  private static final int ID_BYTES = 4;
  private static final String INSTANCES = "instances";

  /** The kind of an instance that outlives its process. */
  private static final String DAEMON = "daemon";

  private static final Duration RESUME_PATIENCE = Duration.ofSeconds(30);

  /** How long a child of a dead process may take to close what it inherited. */
  private static final Duration LOCK_PATIENCE = Duration.ofSeconds(1);

  private static final Duration LOCK_RETRY = Duration.ofMillis(1);

  private final Path path;
  private final boolean isLinked;
  private final UidClaims claims;
  private final String identity;

  private Home(Path path, boolean isLinked, UidClaims claims) throws IOException {
    this.path = path;
    identity =
        "%s:%s %s"
            .formatted(
                Files.getAttribute(path, "unix:dev"), Files.getAttribute(path, "unix:ino"), path);
    this.isLinked = isLinked;
    this.claims = claims;
  }

  /** {@code EBB_HOME}, or /var/lib/ebb for root, or the user's XDG state directory. */
  public static Path locate(Map<String, String> environment) {
    return locate(environment, Self.uid());
  }

  static Path locate(Map<String, String> environment, int uid) {
    String home = environment.get("EBB_HOME");
    if (home != null && !home.isEmpty()) {
      return Path.of(home).toAbsolutePath().normalize();
    }
    if (uid == 0) {
      return Path.of("/var/lib/ebb");
    }
    String state = environment.get("XDG_STATE_HOME");
    // By the XDG specification a relative path is invalid.
    return state != null && Path.of(state).isAbsolute()
        ? Path.of(state, "ebb")
        : Path.of(environment.getOrDefault("HOME", "/"), ".local", "state", "ebb");
  }

  /** Makes the directories that are missing, for their owner only. */
  public static Home open(Path path) throws KernelException, IOException {
    return open(path, UidClaims.OF_THIS_HOST);
  }

  /** The same where uids are claimed elsewhere. */
  public static Home open(Path path, UidClaims claims) throws KernelException, IOException {
    if (path.getParent() != null) {
      Files.createDirectories(path.getParent());
    }
    makeDirectory(path);
    // A link is followed once: it may lie where others can change it.
    Path real = path.toRealPath();
    requireOurs(real);
    makeDirectory(real.resolve(INSTANCES));
    makeDirectory(real.resolve("lib"));
    return new Home(real, Files.isSymbolicLink(path), claims);
  }

  /** What lies in a home is trusted and executed: nobody else may have prepared it. */
  private static void requireOurs(Path path) throws KernelException, IOException {
    try (var scope = new Scope()) {
      var status = FileStatus.of(Fd.open(scope, path, Fd.Flag.READ, Fd.Flag.DIRECTORY));
      if (!status.isPrivateTo(Self.uid())) {
        throw new IOException(
            "others can change it (uid %d, mode %o)"
                .formatted(status.uid(), status.mode() & 07777));
      }
    }
  }

  static void makeDirectory(Path path) throws KernelException {
    try {
      Filesystem.mkdir(path, 0700);
    } catch (KernelException e) {
      if (!e.is(Errno.EEXIST)) {
        throw e;
      }
    }
  }

  public Path path() {
    return path;
  }

  /** What no other home of this host has in common with it: which directory it is, and where. */
  public String identity() {
    return identity;
  }

  /** The path that is part of an {@link #identity}; empty: it is none. */
  public static Optional<Path> pathOf(String identity) {
    int space = identity.indexOf(' ');
    return space > 0 && identity.startsWith("/", space + 1)
        ? Optional.of(Path.of(identity.substring(space + 1)))
        : Optional.empty();
  }

  /** The directory of an instance of this home, whether it is there or not. */
  public Path directory(String instance) {
    return directory(path, instance);
  }

  /** The same of the home at {@code path}. */
  public static Path directory(Path path, String instance) {
    return path.resolve(INSTANCES).resolve(instance);
  }

  /** A directory that is, or would be, that of an instance of this home. */
  public boolean isPlaceOf(Path directory) {
    return path.resolve(INSTANCES).equals(directory.getParent());
  }

  /** The uids of this host. */
  public UidClaims claims() {
    return claims;
  }

  public Path lib() {
    return path.resolve("lib");
  }

  /** Held while instances are made or claimed, and only then. */
  private Fd lock(Scope scope) throws KernelException {
    Fd lock = Fd.open(scope, path.resolve("lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
    Filesystem.lock(lock);
    return lock;
  }

  /**
   * Makes a new instance of {@code process}, alive for as long as {@code scope} is open.
   *
   * @throws KernelException EUSERS when others have all of {@code uids}
   */
  public Instance create(Scope scope, String process, UidRange uids)
      throws KernelException, IOException {
    return create(scope, process, uids, "guest");
  }

  /**
   * The instance of this home's daemon: the one that the last daemon left, as it is; or a new one.
   */
  public Instance createForDaemon(Scope scope, String process, UidRange uids)
      throws KernelException, IOException {
    return createForDaemon(scope, process, uids, _ -> false);
  }

  /**
   * Like the other, where files may be damaged.
   *
   * @param isOfThisBoot tells of an instance's id whether the host shows that it is
   */
  public Instance createForDaemon(
      Scope scope, String process, UidRange uids, Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    Optional<Instance> left = resume(scope, process, uids, isOfThisBoot);
    return left.isPresent() ? left.get() : create(scope, process, uids, DAEMON);
  }

  /** Somebody may be releasing what the last daemon left attached: that is waited for. */
  private Optional<Instance> resume(
      Scope scope, String process, UidRange uids, Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    Deadline deadline = Deadline.in(RESUME_PATIENCE);
    while (true) {
      // RACE: whoever is at it needs the home's lock to finish, so it is held for each look only.
      try (var brief = new Scope()) {
        lock(brief);
        Optional<Path> left = ofDaemon(isOfThisBoot);
        if (left.isEmpty()) {
          return Optional.empty();
        }
        Fd held = lockFile(scope, left.get());
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
    for (Path directory : directories()) {
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
    int uid = claims.claimAgain(Instance.uid(directory), uids, uidsBeside(directory), directory);
    Step.RESUME_INSTANCE.reach();
    Instance.describe(directory, bootId(), uid, process, DAEMON);
    Step.RESUME_LEDGER.reach();
    Ledger ledger = Ledger.resume(scope, directory.resolve("ledger"));
    return new Instance(String.valueOf(directory.getFileName()), directory, uid, ledger, true);
  }

  /** What the other instances of this home have, dead or alive. */
  private Set<Integer> uidsBeside(Path directory) throws IOException {
    var taken = new HashSet<Integer>();
    for (Path other : directories()) {
      if (!other.equals(directory)) {
        Instance.uid(other).ifPresent(taken::add);
      }
    }
    return taken;
  }

  /** It was a daemon's: so it says or, where it says nothing, so its records do. */
  private static boolean isOfDaemon(Path directory) throws IOException {
    Optional<String> kind = Instance.field(directory, "kind");
    return kind.isPresent() ? kind.get().equals(DAEMON) : hasRecord(directory);
  }

  private static boolean hasRecord(Path directory) throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.anyMatch(entry -> Files.exists(new LogDirectory(entry).record().path()));
    }
  }

  /** Of an earlier one nothing lives. */
  private boolean isOfThisBoot(Path directory) throws KernelException, IOException {
    return DeadInstance.isOfThisBoot(directory, claims);
  }

  private Instance create(Scope scope, String process, UidRange uids, String kind)
      throws KernelException, IOException {
    try (var brief = new Scope()) {
      lock(brief);
      String id = "ebb-" + HexFormat.of().formatHex(Self.randomBytes(ID_BYTES));
      Path directory = path.resolve(INSTANCES).resolve(id);
      Step.MAKE_INSTANCE.reach();
      Filesystem.mkdir(directory, 0700);
      try {
        Step.CLAIM_UIDS.reach();
        int uid = claims.claim(uids, uidsBeside(directory), directory);
        return fill(scope, directory, uid, process, kind);
      } catch (KernelException | IOException | RuntimeException e) {
        forget(directory);
        throw e;
      }
    }
  }

  private static Instance fill(Scope scope, Path directory, int uid, String process, String kind)
      throws KernelException, IOException {
    Step.DESCRIBE_INSTANCE.reach();
    Instance.describe(directory, bootId(), uid, process, kind);
    Step.LOCK_INSTANCE.reach();
    Fd held = lockFile(scope, directory);
    Filesystem.lock(held);
    Step.BEGIN_LEDGER.reach();
    Ledger ledger = Ledger.create(scope, directory.resolve("ledger"));
    return new Instance(String.valueOf(directory.getFileName()), directory, uid, ledger, false);
  }

  private static Fd lockFile(Scope scope, Path directory) throws KernelException {
    return Fd.open(scope, directory.resolve("lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
  }

  /**
   * Claims every instance whose lock is free, that is, whose process is dead; it stays claimed as
   * long as {@code scope} is open.
   *
   * <p>RACE: instances are made and claimed under the home's lock only, so one that is just being
   * made is never taken for dead. But a lock may outlive its process for a moment.
   *
   * @param isAlive tells of a process, as it was given to {@link #create}
   */
  public List<DeadInstance> claimDead(Scope scope, Predicate<String> isAlive)
      throws KernelException, IOException {
    var dead = new ArrayList<DeadInstance>();
    try (var brief = new Scope()) {
      lock(brief);
      for (Path directory : directories()) {
        claim(scope, directory, isAlive).ifPresent(dead::add);
      }
    }
    return dead;
  }

  private Optional<DeadInstance> claim(Scope scope, Path directory, Predicate<String> isAlive)
      throws KernelException, IOException {
    Step.CLAIM.reach();
    Fd lock;
    try {
      lock = lockFile(scope, directory);
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT)) {
        return Optional.empty();
      }
      throw e;
    }
    Deadline deadline = Deadline.in(LOCK_PATIENCE);
    while (!Filesystem.tryLock(lock)) {
      // KERNEL: the lock belongs to the open file, of which a child has a copy until it execs.
      if (isHeld(directory, isAlive) || !deadline.pause(LOCK_RETRY)) {
        scope.release(lock);
        return Optional.empty();
      }
    }
    if (Instance.field(directory, "process").filter(isAlive).isPresent()
        && LockHolders.hasRemoved(directory.resolve("lock"))) {
      // SAFETY: it lives, and holds the lock of a removed file; this file is new.
      scope.release(lock);
      return Optional.empty();
    }
    return Optional.of(DeadInstance.read(directory, claims));
  }

  /** True when its process lives, or another one has claimed it. */
  private static boolean isHeld(Path directory, Predicate<String> isAlive)
      throws KernelException, IOException {
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

  /** An instance, dead or alive, as it looks from outside; its process as it was given. */
  public record View(String id, String process, List<Holding> holdings) {}

  /** All instances, without claiming any. */
  public List<View> view() throws IOException {
    var views = new ArrayList<View>();
    for (Path directory : directories()) {
      views.add(
          new View(
              String.valueOf(directory.getFileName()),
              Instance.field(directory, "process").orElse(""),
              Ledger.read(directory.resolve("ledger"))));
    }
    return views;
  }

  /** Gives back the uids of an instance whose directory is gone. */
  public void releaseClaims(Path directory) throws KernelException, IOException {
    claims.release(directory);
  }

  /** Instances of any home whose lock a process has open, wherever that lies, or lay. */
  public static Set<String> heldInstances() throws KernelException {
    return LockHolders.instances(INSTANCES);
  }

  /** A living process has an instance whose directory is gone. */
  public boolean isInUse(Path directory) throws KernelException {
    return LockHolders.hasRemoved(directory.resolve("lock"));
  }

  /** Removes the directory of an instance, ours or one that we claimed, that holds nothing. */
  public void remove(Path directory) throws KernelException, IOException {
    try (var brief = new Scope()) {
      lock(brief);
      forget(directory);
    }
  }

  /** ORDER: a claim names the directory, so it goes first. */
  private void forget(Path directory) throws KernelException, IOException {
    claims.release(directory);
    Instance.remove(directory);
  }

  /**
   * Removes the home with all that Ebb made in it; EBUSY while an instance, dead or alive, or a
   * daemon has it. What a link names, or is a mount, stays, empty and good for the next start.
   */
  public HomeRemoval.Outcome remove() throws KernelException, IOException {
    try (var brief = new Scope()) {
      // RACE: instances are made under this lock only, so none comes now.
      lock(brief);
      if (!directories().isEmpty()) {
        throw new KernelException("remove " + path + ", it has instances", Errno.EBUSY);
      }
      return HomeRemoval.remove(path, isLinked);
    }
  }

  /** The pid that a daemon wrote down, while it lives. */
  public Optional<Integer> daemon() throws KernelException, IOException {
    Path file = path.resolve("daemon");
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    try (var brief = new Scope()) {
      if (Filesystem.tryLock(Fd.open(brief, file, Fd.Flag.READ_WRITE))) {
        return Optional.empty();
      }
    }
    String pid = Files.readString(file, StandardCharsets.ISO_8859_1).strip();
    return pid.matches("\\d{1,9}") ? Optional.of(Integer.valueOf(pid)) : Optional.empty();
  }

  private List<Path> directories() throws IOException {
    try (var entries = Files.list(path.resolve(INSTANCES))) {
      // SAFETY: a link leads to what is not ours.
      return entries
          .filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
          .sorted()
          .toList();
    }
  }

  static String bootId() throws KernelException {
    return Filesystem.read(Path.of("/proc/sys/kernel/random/boot_id")).strip();
  }
}
