package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.MountTable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The cgroups on this host that bear the name of an Ebb instance, in every mounted hierarchy and at
 * any depth. An extended attribute of each names the home of its instance, so that a home knows its
 * own even when every file about the instance is lost.
 */
public final class Subtrees {
  private static final Pattern NAME = Pattern.compile("(ebb-[0-9a-f]{8})(-self)?");
  private static final Pattern TYPE = Pattern.compile(" - cgroup2? ");
  private static final String MARK = "user:ebb.home";

  /** Deeper than any delegated subtree lies. */
  private static final int DEEPEST = 16;

  private final Map<String, List<Path>> byInstance = new TreeMap<>();

  private Subtrees() {}

  /** Looks at the host. */
  public static Subtrees find() throws KernelException {
    List<Path> mounts =
        Filesystem.read(Path.of("/proc/self/mountinfo"))
            .lines()
            .filter(line -> TYPE.matcher(line).find())
            .map(line -> MountTable.path(line.split(" ")[4]))
            .filter(Files::isDirectory)
            .distinct()
            .toList();
    return in(mounts);
  }

  static Subtrees in(List<Path> mounts) throws KernelException {
    var found = new Subtrees();
    for (Path mount : mounts) {
      found.look(mount, DEEPEST);
    }
    // ORDER: version 2 first, as everywhere.
    found.byInstance.values().forEach(paths -> paths.sort(Subtrees::version2First));
    return found;
  }

  private static int version2First(Path one, Path other) {
    return Boolean.compare(new Cgroup(other).isVersion2(), new Cgroup(one).isVersion2());
  }

  private void look(Path directory, int depth) throws KernelException {
    for (Path child : children(directory)) {
      Matcher name = NAME.matcher(child.getFileName().toString());
      if (name.matches()) {
        byInstance.computeIfAbsent(name.group(1), _ -> new ArrayList<>()).add(child);
      } else if (depth > 0) {
        look(child, depth - 1);
      }
    }
  }

  /** RACE: others make and remove cgroups meanwhile. */
  private static List<Path> children(Path directory) throws KernelException {
    try {
      return Filesystem.directories(directory);
    } catch (KernelException e) {
      if (Cgroup.isGone(e) || e.is(Errno.ENOTDIR) || e.is(Errno.EACCES)) {
        return List.of();
      }
      throw e;
    }
  }

  /** The instances that have any. */
  public Set<String> instances() {
    return Set.copyOf(byInstance.keySet());
  }

  /** The cgroups of one instance, those of version 2 first. */
  public List<Path> of(String instance) {
    return List.copyOf(byInstance.getOrDefault(instance, List.of()));
  }

  /**
   * The cgroups right below one of an instance: those of its boxes. None in a cgroup of the
   * instance's own process.
   */
  public static List<Path> boxes(Path subtree) throws KernelException {
    return subtree.getFileName().toString().endsWith("-self") ? List.of() : children(subtree);
  }

  /**
   * Records the owner of a cgroup.
   *
   * @throws IOException the kernel keeps no such attribute there
   */
  public static void mark(Path cgroup, String home) throws IOException {
    try {
      Files.setAttribute(cgroup, MARK, home.getBytes(StandardCharsets.UTF_8));
    } catch (UnsupportedOperationException | IllegalArgumentException e) {
      throw new IOException("no extended attributes at " + cgroup, e);
    }
  }

  /** The home that a cgroup was marked with. */
  public static Optional<String> homeOf(Path cgroup) {
    try {
      return Files.getAttribute(cgroup, MARK) instanceof byte[] value
          ? Optional.of(new String(value, StandardCharsets.UTF_8))
          : Optional.empty();
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      // There is no such attribute.
      return Optional.empty();
    }
  }
}
