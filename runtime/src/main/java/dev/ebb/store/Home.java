package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Holding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
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
  private static final String INSTANCES = "instances";

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

  /** Makes the directories that are missing, in a home whose uids are claimed in {@code claims}. */
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

  /** What lies in a home is trusted and executed: no other user may have prepared it. */
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

  /** Returns what distinguishes this home from all others of this host: its directory and path. */
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

  /** The directory of an instance of the home at {@code path}, whether it is there or not. */
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
  Fd lock(Scope scope) throws KernelException {
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
    return new InstanceMaker(this).create(scope, process, uids, InstanceMaker.GUEST);
  }

  /**
   * The instance of this home's daemon: the one that the last daemon left, as it is; or a new one.
   */
  public Instance createForDaemon(Scope scope, String process, UidRange uids)
      throws KernelException, IOException {
    return createForDaemon(scope, process, uids, _ -> false);
  }

  /**
   * The instance of this home's daemon, where files may be damaged.
   *
   * @param isOfThisBoot tells of an instance's id whether the host shows that it is
   */
  public Instance createForDaemon(
      Scope scope, String process, UidRange uids, Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    var maker = new InstanceMaker(this);
    Optional<Instance> left = maker.resume(scope, process, uids, isOfThisBoot);
    return left.isPresent() ? left.get() : maker.create(scope, process, uids, InstanceMaker.DAEMON);
  }

  /**
   * Claims every instance whose process is dead; it stays claimed as long as {@code scope} is open.
   *
   * @param isAlive tells of a process, as it was given to {@link #create}
   */
  public List<DeadInstance> claimDead(Scope scope, Predicate<String> isAlive)
      throws KernelException, IOException {
    return new DeadInstances(this, isAlive).claim(scope);
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
  void forget(Path directory) throws KernelException, IOException {
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

  /** The directories of all instances. */
  List<Path> directories() throws IOException {
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
