package dev.ebb.cgroup;

import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The cgroup hierarchies of this host that Ebb uses.
 *
 * @param unified the cgroup2 mount; empty in mode none
 * @param version1 the v1 mounts by controller; empty unless hybrid
 * @param namespacesBound cgroup namespaces bound what their members may enter ({@code nsdelegate})
 * @param reason why the mode is what it is, for people
 */
public record Hierarchies(
    CgroupMode mode,
    Optional<Path> unified,
    Map<String, Path> version1,
    boolean namespacesBound,
    String reason) {

  /** The v1 controllers Ebb uses, if they are mounted. */
  private static final List<String> USED = List.of("pids", "memory", "cpu", "freezer");

  /** Without these a box has no limits, and is refused. */
  private static final List<String> NEEDED = List.of("pids", "memory");

  private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

  public Hierarchies {
    version1 = Map.copyOf(version1);
  }

  /** Looks at the host. */
  public static Hierarchies detect() throws IOException {
    return detect(Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1));
  }

  /** A character a byte: another mount's name may be no UTF-8. */
  static Hierarchies detect(List<String> mountinfo) throws IOException {
    Path unified = null;
    boolean namespacesBound = false;
    var version1 = new HashMap<String, Path>();
    for (String line : mountinfo) {
      // KERNEL: proc(5), mountinfo: … root mountpoint options [optional fields] - type source super
      String[] halves = line.split(" - ", 2);
      String[] mount = halves[0].split(" ");
      String[] type = halves[1].split(" ");
      if (type[0].equals("cgroup2") && unified == null) {
        unified = mountPoint(mount[4]);
        namespacesBound = List.of(type[2].split(",")).contains("nsdelegate");
      } else if (type[0].equals("cgroup")) {
        for (String controller : type[2].split(",")) {
          if (USED.contains(controller)) {
            version1.putIfAbsent(controller, mountPoint(mount[4]));
          }
        }
      }
    }
    return decide(unified, version1, namespacesBound);
  }

  /** KERNEL: blanks, newlines and backslashes are printed as three octal digits each. */
  private static Path mountPoint(String printed) {
    String bytes =
        ESCAPE
            .matcher(printed)
            .replaceAll(
                found ->
                    Matcher.quoteReplacement(
                        Character.toString(Integer.parseInt(found.group(1), 8))));
    return Path.of(new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8));
  }

  private static Hierarchies decide(
      @Nullable Path unified, Map<String, Path> version1, boolean namespacesBound)
      throws IOException {
    if (unified == null) {
      return none("no cgroup2 file system is mounted");
    }
    if (!Files.isWritable(unified.resolve("cgroup.procs"))) {
      return none(unified + " is not writable");
    }
    var controllers =
        List.of(Files.readString(unified.resolve("cgroup.controllers")).strip().split(" "));
    if (controllers.containsAll(BoxCgroup.CONTROLLERS)) {
      return new Hierarchies(
          CgroupMode.V2,
          Optional.of(unified),
          Map.of(),
          namespacesBound,
          "unified hierarchy at " + unified);
    }
    if (!version1.keySet().containsAll(NEEDED)) {
      return none(
          "neither %s has all of the controllers %s, nor has v1 %s"
              .formatted(unified, BoxCgroup.CONTROLLERS, NEEDED));
    }
    for (Path point : version1.values()) {
      if (!Files.isWritable(point.resolve("cgroup.procs"))) {
        return none(point + " is not writable");
      }
    }
    return new Hierarchies(
        CgroupMode.HYBRID,
        Optional.of(unified),
        version1,
        namespacesBound,
        "cgroup2 at " + unified + " without controllers, limits from v1");
  }

  private static Hierarchies none(String reason) {
    return new Hierarchies(CgroupMode.NONE, Optional.empty(), Map.of(), false, reason);
  }

  /** False before Linux 5.14. */
  public boolean hasKill() {
    // KERNEL: the root cgroup has no cgroup.kill; any child has it or none has.
    return KernelVersion.isAtLeast(5, 14);
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
    return paths;
  }
}
