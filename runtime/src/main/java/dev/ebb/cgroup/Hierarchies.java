package dev.ebb.cgroup;

import static java.util.Objects.requireNonNull;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.process.MountTable;
import dev.ebb.process.ProcFs;
import dev.ebb.process.SupervisorProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The cgroup hierarchies of this host that Ebb uses.
 *
 * @param unified the directory of version 2 that Ebb's own go into: the mount, or a subtree
 *     delegated to us; empty in mode none
 * @param prefix that directory as /proc/PID/cgroup has it; empty for the root
 * @param version1 where Ebb's own go in v1, by controller: this process's own cgroup, so that its
 *     limits hold for boxes, too; empty unless hybrid
 * @param mounts the v1 mounts by controller
 * @param namespacesBound cgroup namespaces bound what their members may enter ({@code nsdelegate})
 * @param reason why the mode is what it is, for people
 */
public record Hierarchies(
    CgroupMode mode,
    Optional<Path> unified,
    String prefix,
    Map<String, Path> version1,
    Map<String, Path> mounts,
    boolean namespacesBound,
    String reason) {

  /** The v1 controllers Ebb uses, if they are mounted. */
  private static final List<String> USED = List.of("pids", "memory", "cpu", "freezer");

  /** Without these a box has no limits, and is refused. */
  private static final List<String> NEEDED = List.of("pids", "memory");

  public Hierarchies {
    version1 = Map.copyOf(version1);
    mounts = Map.copyOf(mounts);
  }

  /**
   * Where this process is, and whether it is ours to move.
   *
   * @param own the pids of this process and of its supervisor
   * @param version1 its cgroups in v1, by controller
   */
  record Place(
      String cgroup, int uid, boolean mayMove, List<Integer> own, Map<String, String> version1) {
    Place {
      own = List.copyOf(own);
      version1 = Map.copyOf(version1);
    }

    Place(String cgroup, int uid, boolean mayMove, List<Integer> own) {
      this(cgroup, uid, mayMove, own, Map.of());
    }

    /** The one above, if there is one. */
    Optional<Place> parent() {
      int slash = cgroup.lastIndexOf('/');
      return slash > 0
          ? Optional.of(new Place(cgroup.substring(0, slash), uid, mayMove, own, version1))
          : Optional.empty();
    }

    Path in(Path unified) {
      return unified.resolve(cgroup.substring(1));
    }
  }

  /** Looks at the host, for a process that is not Ebb's to move. */
  public static Hierarchies detect() throws IOException {
    return detect(false);
  }

  /**
   * Looks at the host.
   *
   * @param mayMove this process is Ebb's own, and may be moved to another cgroup
   */
  public static Hierarchies detect(boolean mayMove) throws IOException {
    int self = (int) ProcessHandle.current().pid();
    var own = new ArrayList<>(SupervisorProcess.pids());
    own.add(self);
    var place =
        new Place(
            ProcFs.cgroup(self).orElse("/"),
            Self.uid(),
            mayMove,
            own,
            ProcFs.version1Cgroups(self));
    return detect(
        Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1), place);
  }

  /** A character a byte: another mount's name may be no UTF-8. */
  static Hierarchies detect(List<String> mountinfo, Place place) throws IOException {
    Path unified = null;
    boolean namespacesBound = false;
    var version1 = new HashMap<String, Version1Mount>();
    for (String line : mountinfo) {
      // KERNEL: proc(5), mountinfo: … root mountpoint options [optional fields] - type source super
      String[] halves = line.split(" - ", 2);
      String[] mount = halves[0].split(" ");
      String[] type = halves[1].split(" ");
      if (type[0].equals("cgroup2") && unified == null) {
        unified = MountTable.path(mount[4]);
        namespacesBound = List.of(type[2].split(",")).contains("nsdelegate");
      } else if (type[0].equals("cgroup")) {
        add(mount, List.of(type[2].split(",")), version1);
      }
    }
    return decide(unified, version1, namespacesBound, place);
  }

  private static void add(
      String[] mount, List<String> controllers, Map<String, Version1Mount> version1) {
    var point =
        new Version1Mount(
            MountTable.path(mount[4]), MountTable.path(mount[3]).toString(), controllers);
    controllers.stream()
        .filter(USED::contains)
        .forEach(controller -> version1.putIfAbsent(controller, point));
  }

  private static Hierarchies decide(
      @Nullable Path unified,
      Map<String, Version1Mount> version1,
      boolean namespacesBound,
      Place place)
      throws IOException {
    if (unified == null) {
      return none("no cgroup2 file system is mounted");
    }
    // The cgroup that systemd delegated as a whole, with us in a subgroup of it
    // (DelegateSubgroup=).
    Optional<Place> above = place.parent().filter(each -> isMarked(each.in(unified)));
    Place ours = above.orElse(place);
    Path own = ours.in(unified);
    if (isDelegated(unified, own, ours) && hasControllers(own)) {
      return inDelegated(own, namespacesBound, ours);
    }
    if (!Files.isWritable(unified.resolve("cgroup.procs"))) {
      return none(unified + " is not writable");
    }
    if (hasControllers(unified)) {
      return whole(unified, namespacesBound);
    }
    if (!version1.keySet().containsAll(NEEDED)) {
      return none(
          "neither %s has all of the controllers %s, nor has v1 %s"
              .formatted(unified, BoxCgroup.CONTROLLERS, NEEDED));
    }
    return hybrid(unified, version1, namespacesBound, place);
  }

  private static Hierarchies whole(Path unified, boolean namespacesBound) {
    return new Hierarchies(
        CgroupMode.V2,
        Optional.of(unified),
        "",
        Map.of(),
        Map.of(),
        namespacesBound,
        "unified hierarchy at " + unified);
  }

  private static Hierarchies hybrid(
      Path unified, Map<String, Version1Mount> version1, boolean namespacesBound, Place place) {
    var bases = new HashMap<String, Path>();
    var mounts = new HashMap<String, Path>();
    version1.forEach(
        (controller, mount) -> {
          bases.put(controller, mount.base(place));
          mounts.put(controller, mount.point());
        });
    for (Path base : bases.values()) {
      if (!Files.isWritable(base.resolve("cgroup.procs"))) {
        return none(base + " is not writable");
      }
    }
    String where = bases.equals(mounts) ? "" : ", below this process's own cgroups";
    return new Hierarchies(
        CgroupMode.HYBRID,
        Optional.of(unified),
        "",
        bases,
        mounts,
        namespacesBound,
        "cgroup2 at " + unified + " without controllers, limits from v1" + where);
  }

  private static Hierarchies none(String reason) {
    return new Hierarchies(
        CgroupMode.NONE, Optional.empty(), "", Map.of(), Map.of(), false, reason);
  }

  private static boolean hasControllers(Path cgroup) throws IOException {
    Path controllers = cgroup.resolve("cgroup.controllers");
    return Files.exists(controllers) && namesNeeded(controllers);
  }

  /** Returns whether {@code file} names all controllers that a box needs. */
  private static boolean namesNeeded(Path file) throws IOException {
    return List.of(Files.readString(file).strip().split(" ")).containsAll(BoxCgroup.CONTROLLERS);
  }

  /**
   * Returns whether this process may arrange its own cgroup: systemd marks a delegated one by an
   * attribute (Delegate=yes); the root of a container may be arranged if it is writable; and an
   * ordinary user may arrange what the user can write to.
   *
   * <p>KERNEL: only the real root has no cgroup.type.
   */
  private static boolean isDelegated(Path unified, Path own, Place place) throws IOException {
    if (!Files.isWritable(own) || !Files.isWritable(own.resolve("cgroup.procs"))) {
      return false;
    }
    boolean isContainer = own.equals(unified) && Files.exists(own.resolve("cgroup.type"));
    return isContainer || place.uid() != 0 || isMarked(own);
  }

  private static boolean isMarked(Path own) {
    try {
      return Files.getAttribute(own, "user:delegate") instanceof byte[] value
          && new String(value, StandardCharsets.ISO_8859_1).equals("1");
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      // There is no such attribute.
      return false;
    }
  }

  /** KERNEL: controllers can be handed on only by a cgroup that has no process in it. */
  private static Hierarchies inDelegated(Path own, boolean namespacesBound, Place place)
      throws IOException {
    List<String> members = Files.readAllLines(own.resolve("cgroup.procs"));
    List<String> ours = place.own().stream().map(String::valueOf).toList();
    boolean isShared = !ours.containsAll(members);
    boolean isPrepared = namesNeeded(own.resolve("cgroup.subtree_control"));
    if (!isPrepared && isShared) {
      return none("others are in " + own + ", too; give Ebb a cgroup of its own");
    }
    if (!isPrepared && !members.isEmpty() && !place.mayMove()) {
      return none("this process is in " + own + " and not Ebb's to move");
    }
    return new Hierarchies(
        CgroupMode.V2,
        Optional.of(own),
        place.cgroup().equals("/") ? "" : place.cgroup(),
        Map.of(),
        Map.of(),
        namespacesBound,
        "delegated subtree " + own);
  }

  /** Where this process goes, so that its cgroup can hand controllers on; empty: it may stay. */
  public Optional<Path> leafOfOurs(String name) throws IOException {
    if (mode != CgroupMode.V2) {
      return Optional.empty();
    }
    Path base = unified.orElseThrow();
    String self = Long.toString(ProcessHandle.current().pid());
    boolean isIn =
        Files.exists(base.resolve("cgroup.type"))
            && Files.readAllLines(base.resolve("cgroup.procs")).contains(self);
    return isIn ? Optional.of(base.resolve(name + "-self")) : Optional.empty();
  }

  /**
   * Returns whether there is cgroup.kill, from Linux 5.14 on; empty where there is no cgroup to
   * check.
   *
   * <p>KERNEL: the root cgroup has none; of all others each has it or none has.
   */
  public Optional<Boolean> hasKill() throws IOException {
    if (unified.isEmpty()) {
      return Optional.empty();
    }
    Path base = unified.get();
    if (Files.exists(base.resolve("cgroup.type"))) {
      return Optional.of(Files.exists(base.resolve("cgroup.kill")));
    }
    try (Stream<Path> entries = Files.list(base)) {
      return entries
          .filter(entry -> Files.exists(entry.resolve("cgroup.type")))
          .findAny()
          .map(cgroup -> Files.exists(cgroup.resolve("cgroup.kill")));
    }
  }

  /** Lets the children of our subtree {@code name} have controllers, where there are any. */
  public void delegate(String name) throws KernelException {
    if (mode == CgroupMode.V2) {
      Path root = unified.orElseThrow();
      BoxCgroup.delegate(new Cgroup(root));
      BoxCgroup.delegate(new Cgroup(root.resolve(name)));
    }
  }

  /** Where {@code name} lies in each hierarchy in use: version 2 first. */
  public List<Path> everywhere(String name) {
    var paths = new ArrayList<Path>();
    unified.ifPresent(root -> paths.add(root.resolve(name)));
    version1.values().stream().distinct().sorted().forEach(root -> paths.add(root.resolve(name)));
    return List.copyOf(paths);
  }

  /**
   * The hierarchies as they were for what {@code made} {@code name}: in v1 another process may have
   * made it below another cgroup.
   *
   * @param made the cgroups of that name
   */
  public Hierarchies asFor(String name, Collection<Path> made) {
    var bases = new HashMap<>(version1);
    mounts.forEach(
        (controller, mount) ->
            made.stream()
                .filter(path -> path.startsWith(mount) && path.endsWith(name))
                .findFirst()
                .ifPresent(path -> bases.put(controller, above(path, Path.of(name)))));
    return new Hierarchies(mode, unified, prefix, bases, mounts, namespacesBound, reason);
  }

  private static Path above(Path path, Path name) {
    Path base = path;
    for (int i = 0; i < name.getNameCount(); i++) {
      base = requireNonNull(base.getParent());
    }
    return base;
  }
}
