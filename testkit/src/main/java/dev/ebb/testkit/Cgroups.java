package dev.ebb.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Directories named {@code ebb*}, and all below them, in every mounted hierarchy. */
final class Cgroups {
  private Cgroups() {}

  static List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Mount mount : Mount.readAll()) {
      if (mount.isCgroup()) {
        walk(mount.point(), "", processes, traces);
      }
    }
    return traces;
  }

  /** {@code instance} is the name of the topmost directory of ours on the way down, or empty. */
  private static void walk(
      Path directory, String instance, ProcessTable processes, List<Trace> traces)
      throws IOException {
    if (hasNoChildren(directory)) {
      return;
    }
    for (Path child : Proc.list(directory)) {
      if (Files.isDirectory(child, LinkOption.NOFOLLOW_LINKS)) {
        String name = child.getFileName().toString();
        String owner = instance.isEmpty() && name.startsWith("ebb") ? name : instance;
        if (!owner.isEmpty()) {
          traces.add(trace(child, owner, processes));
        }
        walk(child, owner, processes, traces);
      }
    }
  }

  /**
   * KERNEL: each directory of kernfs has a link for every child; this spares thousands of stats.
   */
  private static boolean hasNoChildren(Path directory) throws IOException {
    try {
      return (int) Files.getAttribute(directory, "unix:nlink") == 2;
    } catch (IOException e) {
      if (Proc.isGone(e)) {
        return true;
      }
      throw e;
    }
  }

  private static Trace trace(Path directory, String instance, ProcessTable processes)
      throws IOException {
    // KERNEL: cgroup.procs of a threaded cgroup cannot be read; v1 has tasks instead.
    Path version2 = directory.resolve("cgroup.threads");
    var members = Proc.lines(Files.exists(version2) ? version2 : directory.resolve("tasks"));
    return new Trace(
        "cgroup",
        directory.toString(),
        members.isEmpty() ? directory + " (empty)" : directory + " with threads " + members,
        isNeighbours(instance, processes));
  }

  private static boolean isNeighbours(String instance, ProcessTable processes) throws IOException {
    return processes.isNeighboursName(instance)
        || processes.neighboursHold("/instances/" + instance + "/")
        || TestHost.isNeighboursInstance(instance);
  }
}
