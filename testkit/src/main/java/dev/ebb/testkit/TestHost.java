package dev.ebb.testkit;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Self;
import dev.ebb.oracle.Proc;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/**
 * The machine that a test runs on: skips the test where the machine lacks something, and lends it
 * homes. As an instance field it lends them to one test, as a static one to all of the class.
 */
public final class TestHost implements BeforeAllCallback, BeforeEachCallback {
  private static final Path HOMES_PARENT = Path.of("/tmp");
  private static final String HOME_PREFIX = HOMES_PARENT + "/ebb-";
  private static final Set<Path> HOMES = ConcurrentHashMap.newKeySet();
  private static final Duration ORPHAN_PATIENCE = patience(Duration.ofSeconds(20));
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final List<Feature> needs;
  private final List<Path> lent = new ArrayList<>();
  private boolean open;
  private @Nullable Path home;

  private TestHost(List<Feature> needs) {
    this.needs = needs;
  }

  public static TestHost needing(Feature... features) {
    return new TestHost(List.of(features));
  }

  /** Skips the running test where the machine lacks something. */
  public static void require(Feature... features) {
    for (Feature feature : features) {
      Assumptions.assumeTrue(feature.isPresent(), feature.lack());
    }
  }

  /** The root of the clone, where {@code ./ebb} is. */
  public static Path root() {
    return Path.of(System.getProperty("ebb.root", "..")).toAbsolutePath().normalize();
  }

  /**
   * How long to wait at most for what usually is there long before {@code usual} is over. The
   * property {@code ebb.patience} is a factor for a slow host, such as an emulated one.
   */
  public static Duration patience(Duration usual) {
    return usual.multipliedBy(Integer.getInteger("ebb.patience", 1));
  }

  /** How many a test does side by side: fewer on a slow host, so that each is done in its time. */
  public static int atOnce(int usual) {
    return Math.max(2, usual / Integer.getInteger("ebb.patience", 1));
  }

  /** Every home that is lent out now, for {@link LeakCheck} to look at. */
  static Set<Path> homes() {
    return Set.copyOf(HOMES);
  }

  /** An instance, perhaps dead by now, of a home that a test in another JVM has. */
  static boolean isNeighboursInstance(String id) throws IOException {
    for (Path path : Proc.list(HOMES_PARENT)) {
      if (path.toString().startsWith(HOME_PREFIX)
          && !HOMES.contains(path)
          && hasInstance(path, id)) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasInstance(Path home, String id) throws IOException {
    for (Path side : Proc.list(home.resolve("side"))) {
      if (Files.exists(side.resolve("instances").resolve(id))) {
        return true;
      }
    }
    return Files.exists(home.resolve("instances").resolve(id));
  }

  @Override
  public void beforeAll(ExtensionContext context) throws IOException, KernelException {
    open(context);
  }

  @Override
  public void beforeEach(ExtensionContext context) throws IOException, KernelException {
    if (!open) {
      open(context);
    }
  }

  private void open(ExtensionContext context) throws IOException, KernelException {
    require(needs.toArray(Feature[]::new));
    Self.becomeSubreaper();
    open = true;
    // ORDER: JUnit closes its store after all callbacks, so LeakCheck still sees the homes.
    context.getStore(Namespace.create(this)).put(this, (AutoCloseable) this::removeHomes);
  }

  /** A fresh home, the same one all through a test. */
  public Path home() throws IOException {
    if (home == null) {
      home = newHome();
    }
    return home;
  }

  /** One more home; its path is short, for the sake of socket names. */
  public Path newHome() throws IOException {
    var ownerOnly =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    while (true) {
      Path path = Path.of(HOME_PREFIX + Integer.toHexString(ThreadLocalRandom.current().nextInt()));
      try {
        Files.createDirectory(path, ownerOnly);
      } catch (FileAlreadyExistsException e) {
        continue;
      }
      lent.add(path);
      HOMES.add(path);
      return path;
    }
  }

  private void removeHomes() throws IOException {
    for (Path path : lent) {
      HOMES.remove(path);
      Directories.remove(path);
    }
    lent.clear();
    home = null;
    open = false;
  }

  /**
   * Reaps the dead among the orphans that this JVM adopted, as a good pid 1 does: where pid 1 does
   * not, what a killed {@link ChildJvm} started would stay a zombie for ever.
   *
   * <p>Not while an engine in this JVM has boxes: their inits are adopted too, and it waits for
   * them itself.
   *
   * @return how many were reaped
   */
  public static int reapOrphans() throws IOException, KernelException {
    int reaped = 0;
    for (int pid : orphans()) {
      reaped += reap(pid);
    }
    return reaped;
  }

  /** Reaps them until none is left, dead or alive, but {@code others}: the dying need a while. */
  public static void awaitOrphans(int... others) throws IOException, KernelException {
    Deadline deadline = Deadline.in(ORPHAN_PATIENCE);
    while (true) {
      reapOrphans();
      Set<Integer> left = orphans();
      for (int pid : others) {
        left.remove(pid);
      }
      if (left.isEmpty()) {
        return;
      }
      if (deadline.isOver()) {
        throw new AssertionError("orphans do not go: " + left);
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  private static Set<Integer> orphans() throws IOException {
    // KERNEL: orphans go to the first thread of their subreaper. In a JVM that one never starts
    // anything, so what java.lang.Process waits for is not in this list. RACE: a thread that ends
    // leaves its children to the first, so that is asked last.
    Path first = Path.of(Long.toString(ProcessHandle.current().pid()));
    var orphans = new LinkedHashSet<Integer>();
    for (Path thread : Proc.list(Proc.SELF.resolve("task")).reversed()) {
      String children = Proc.read(thread.resolve("children")).orElse("");
      for (String pid : children.split(" ")) {
        if (!pid.isBlank() && (thread.endsWith(first) || isEbbs(pid))) {
          orphans.add(Integer.valueOf(pid));
        }
      }
    }
    return orphans;
  }

  /** A forkserver, or a box of one: a child of the thread that started the forkserver. */
  private static boolean isEbbs(String pid) throws IOException {
    String name = Proc.read(Path.of("/proc", pid, "comm")).orElse("").strip();
    return name.equals("ebb-init") || name.equals("ebb-forkserver");
  }

  private static int reap(int pid) throws KernelException {
    try {
      return Pidfd.reapZombie(pid).isPresent() ? 1 : 0;
    } catch (KernelException e) {
      if (e.is(Errno.ECHILD)) {
        return 0;
      }
      throw e;
    }
  }
}
