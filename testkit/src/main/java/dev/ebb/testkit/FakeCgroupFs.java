package dev.ebb.testkit;

import dev.ebb.oracle.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A directory that looks like mounted cgroup hierarchies, for tests of logic.
 *
 * <p>Two differences to the kernel's remain. A plain mkdir makes no control files: use {@link
 * #create}. And rmdir answers ENOTEMPTY as long as there are any, where the kernel removes them
 * along: a cgroup with control files is a busy one here, and {@link #vacate} ends that.
 */
public final class FakeCgroupFs {
  private static final String CONTROLLERS = "cpu memory pids";

  /**
   * Files that the code under test writes start empty: a plain file keeps what is not overwritten.
   */
  private static final Map<String, String> VERSION_2 =
      Map.of(
          "cgroup.procs", "",
          "cgroup.threads", "",
          "cgroup.type", "domain\n",
          "cgroup.subtree_control", "",
          "cgroup.events", "populated 0\nfrozen 0\n",
          "cgroup.kill", "",
          "cgroup.freeze", "",
          "cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n");

  private static final Map<String, String> VERSION_2_CONTROLLERS =
      Map.of(
          "memory.max", "",
          "memory.swap.max", "",
          "memory.oom.group", "",
          "memory.peak", "0\n",
          "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
          "pids.max", "",
          "pids.peak", "0\n",
          "pids.events", "max 0\n",
          "cpu.max", "");

  private static final Map<String, String> VERSION_1 = Map.of("cgroup.procs", "", "tasks", "");

  private static final Map<String, Map<String, String>> VERSION_1_CONTROLLERS =
      Map.of(
          "memory",
          Map.of(
              "memory.limit_in_bytes", "",
              "memory.memsw.limit_in_bytes", "",
              "memory.max_usage_in_bytes", "0\n",
              "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
          "pids",
          Map.of("pids.max", "", "pids.peak", "0\n", "pids.events", "max 0\n"),
          "cpu",
          Map.of("cpu.cfs_quota_us", "", "cpu.cfs_period_us", "100000\n"),
          "freezer",
          Map.of("freezer.state", ""));

  private final Path unified;
  private final boolean hybrid;
  private final Map<String, Path> version1 = new LinkedHashMap<>();

  private FakeCgroupFs(Path root, boolean hybrid) throws IOException {
    this.unified = Files.createDirectories(root.resolve("unified"));
    this.hybrid = hybrid;
    fill(unified, Map.of("cgroup.procs", "", "cgroup.subtree_control", ""));
    write(unified, "cgroup.controllers", hybrid ? "\n" : CONTROLLERS + "\n");
    if (hybrid) {
      for (String controller : VERSION_1_CONTROLLERS.keySet()) {
        Path mount = Files.createDirectories(root.resolve(controller));
        fill(mount, VERSION_1);
        version1.put(controller, mount);
      }
    }
  }

  /** The unified hierarchy with its controllers, below {@code root}. */
  public static FakeCgroupFs v2(Path root) throws IOException {
    return new FakeCgroupFs(root, false);
  }

  /** cgroup2 without controllers, and a v1 hierarchy for each of them. */
  public static FakeCgroupFs hybrid(Path root) throws IOException {
    return new FakeCgroupFs(root, true);
  }

  public Path unified() {
    return unified;
  }

  /** The v1 mount of a controller. */
  public Path version1(String controller) {
    return Objects.requireNonNull(version1.get(controller), controller);
  }

  /** Returns the content of /proc/self/mountinfo. */
  public List<String> mountinfo() {
    var lines = new ArrayList<String>();
    lines.add("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw");
    lines.add(line(31, unified, "cgroup2 cgroup2 rw"));
    version1.forEach(
        (controller, mount) ->
            lines.add(line(32 + lines.size(), mount, "cgroup cgroup rw," + controller)));
    return lines;
  }

  private static String line(int id, Path mount, String type) {
    String point = mount.toString().replace("\\", "\\134").replace(" ", "\\040");
    return id + " 27 0:" + id + " / " + point + " rw,relatime shared:1 - " + type;
  }

  /** Makes {@code name} in every hierarchy as mkdir on the real one does; returns the v2 path. */
  public Path create(String name) throws IOException {
    Path cgroup = Files.createDirectories(unified.resolve(name));
    fill(cgroup, VERSION_2);
    write(cgroup, "cgroup.controllers", hybrid ? "\n" : CONTROLLERS + "\n");
    if (!hybrid) {
      fill(cgroup, VERSION_2_CONTROLLERS);
    }
    for (var each : version1.entrySet()) {
      Path version1Cgroup = Files.createDirectories(each.getValue().resolve(name));
      fill(version1Cgroup, VERSION_1);
      fill(version1Cgroup, VERSION_1_CONTROLLERS.getOrDefault(each.getKey(), Map.of()));
    }
    return cgroup;
  }

  /**
   * Puts processes into a v2 cgroup. Code under test may kill them: list only your own children.
   */
  public void populate(String name, int... pids) throws IOException {
    String lines = IntStream.of(pids).mapToObj(pid -> pid + "\n").collect(Collectors.joining());
    write(unified.resolve(name), "cgroup.procs", lines);
    Path relative = Path.of(name);
    for (int depth = 1; depth <= relative.getNameCount(); depth++) {
      Path cgroup = unified.resolve(relative.subpath(0, depth));
      write(cgroup, "cgroup.events", "populated 1\nfrozen 0\n");
    }
  }

  /**
   * All members are gone: the cgroup at {@code path}, of either version, can be removed by rmdir.
   */
  public void vacate(Path path) throws IOException {
    for (Path entry : Proc.list(path)) {
      if (!Files.isDirectory(entry)) {
        Files.delete(entry);
      }
    }
  }

  /** Removes {@code file} from every cgroup, as in a kernel without it. */
  public void withdraw(String file) throws IOException {
    try (var all = Files.walk(unified.getParent())) {
      for (Path path : all.filter(path -> path.endsWith(file)).toList()) {
        Files.delete(path);
      }
    }
  }

  /** Returns what was written to a control file. */
  public String read(Path cgroup, String file) throws IOException {
    return Files.readString(cgroup.resolve(file)).strip();
  }

  public void write(Path cgroup, String file, String text) throws IOException {
    Files.writeString(cgroup.resolve(file), text);
  }

  private void fill(Path cgroup, Map<String, String> files) throws IOException {
    for (var file : files.entrySet()) {
      write(cgroup, file.getKey(), file.getValue());
    }
  }
}
