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
 * The directory with all state: {@code lock}, {@code lib/} for ebb-init, and one directory per
 * instance.
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

  /** Returns {@code EBB_HOME}, or /var/lib/ebb for root, or the user's XDG state directory. */
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

  /** Makes missing directories, accessible to their owner only. */
  public static Home open(Path path) throws KernelException, IOException {
    return open(path, UidClaims.OF_THIS_HOST);
  }

  /** Makes missing directories, in a home whose uids are claimed in {@code claims}. */
  public static Home open(Path path, UidClaims claims) throws KernelException, IOException {
    if (path.getParent() != null) {
      Files.createDirectories(path.getParent());
    }
    makeDirectory(path);
    // A link is resolved only once, since others may be able to change it.
    Path real = path.toRealPath();
    requireOurs(real);
    makeDirectory(real.resolve(INSTANCES));
    makeDirectory(real.resolve("lib"));
    return new Home(real, Files.isSymbolicLink(path), claims);
  }

  /**
   * Checks the owner: files in a home are trusted and executed, so no other user may have prepared
   * it.
   */
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

  /** Returns the identity of this home among all homes of the host: its directory and path. */
  public String identity() {
    return identity;
  }

  /** Returns the path in an {@link #identity}; empty if it is not one. */
  public static Optional<Path> pathOf(String identity) {
    int space = identity.indexOf(' ');
    return space > 0 && identity.startsWith("/", space + 1)
        ? Optional.of(Path.of(identity.substring(space + 1)))
        : Optional.empty();
  }

  /** Returns the directory of an instance of this home, whether it exists or not. */
  public Path directory(String instance) {
    return directory(path, instance);
  }

  /** Returns the directory of an instance of the home at {@code path}, whether it exists or not. */
  public static Path directory(Path path, String instance) {
    return path.resolve(INSTANCES).resolve(instance);
  }

  /** Returns whether a directory is, or would be, that of an instance of this home. */
  public boolean isPlaceOf(Path directory) {
    return path.resolve(INSTANCES).equals(directory.getParent());
  }

  /** Returns the uid claims of this host. */
  public UidClaims claims() {
    return claims;
  }

  public Path lib() {
    return path.resolve("lib");
  }

  /** Takes the lock that is held only while instances are made or claimed. */
  Fd lock(Scope scope) throws KernelException {
    Fd lock = Fd.open(scope, path.resolve("lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
    Filesystem.lock(lock);
    return lock;
  }

  /**
   * Makes a new instance of {@code process}, alive while {@code scope} is open.
   *
   * @throws KernelException EUSERS if others have claimed all of {@code uids}
   */
  public Instance create(Scope scope, String process, UidRange uids)
      throws KernelException, IOException {
    return new InstanceMaker(this).create(scope, process, uids, InstanceMaker.GUEST);
  }

  /**
   * Returns the instance of this home's daemon: that of the last daemon, unchanged, or a new one.
   */
  public Instance createForDaemon(Scope scope, String process, UidRange uids)
      throws KernelException, IOException {
    return createForDaemon(scope, process, uids, _ -> false);
  }

  /**
   * Returns the instance of this home's daemon, where files may be damaged.
   *
   * @param isOfThisBoot tests by the id of an instance whether the host shows that it is of this
   *     boot
   */
  public Instance createForDaemon(
      Scope scope, String process, UidRange uids, Predicate<String> isOfThisBoot)
      throws KernelException, IOException {
    var maker = new InstanceMaker(this);
    Optional<Instance> left = maker.resume(scope, process, uids, isOfThisBoot);
    return left.isPresent() ? left.get() : maker.create(scope, process, uids, InstanceMaker.DAEMON);
  }

  /**
   * Claims every instance whose process is dead, while {@code scope} is open.
   *
   * @param isAlive tests a process, as it was given to {@link #create}
   */
  public List<DeadInstance> claimDead(Scope scope, Predicate<String> isAlive)
      throws KernelException, IOException {
    return new DeadInstances(this, isAlive).claim(scope);
  }

  /** An instance, dead or alive, as seen from outside, with the process it was made with. */
  public record View(String id, String process, List<Holding> holdings) {}

  /** Lists all instances, without claiming any. */
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

  /** Releases the uids of an instance whose directory is gone. */
  public void releaseClaims(Path directory) throws KernelException, IOException {
    claims.release(directory);
  }

  /**
   * Returns the instances of any home whose lock a process has open, even if the file was removed.
   */
  public static Set<String> heldInstances() throws KernelException {
    return LockHolders.instances(INSTANCES);
  }

  /** Returns whether a living process has an instance whose directory is gone. */
  public boolean isInUse(Path directory) throws KernelException {
    return LockHolders.hasRemoved(directory.resolve("lock"));
  }

  /** Removes the directory of an instance that is ours or claimed, and holds nothing. */
  public void remove(Path directory) throws KernelException, IOException {
    try (var brief = new Scope()) {
      lock(brief);
      forget(directory);
    }
  }

  /** ORDER: a claim names the directory, so the claim is removed first. */
  void forget(Path directory) throws KernelException, IOException {
    claims.release(directory);
    Instance.remove(directory);
  }

  /**
   * Removes the home with everything that Ebb made in it; EBUSY while an instance, dead or alive,
   * or a daemon uses it. The target of a link, or a mount, stays as an empty directory for the next
   * start.
   */
  public HomeRemoval.Outcome remove() throws KernelException, IOException {
    try (var brief = new Scope()) {
      // RACE: instances are made only under this lock, so none appears now.
      lock(brief);
      if (!directories().isEmpty()) {
        throw new KernelException("remove " + path + ", it has instances", Errno.EBUSY);
      }
      return HomeRemoval.remove(path, isLinked);
    }
  }

  /** Returns the recorded pid of a daemon, while it lives. */
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

  /** Lists the directories of all instances. */
  List<Path> directories() throws IOException {
    try (var entries = Files.list(path.resolve(INSTANCES))) {
      // SAFETY: links are skipped: their targets are not ours.
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
