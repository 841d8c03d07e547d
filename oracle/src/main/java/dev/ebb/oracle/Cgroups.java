package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Directories named {@code ebb*}, and all below them, in every mounted hierarchy. */
public final class Cgroups implements Detector {
  private final Neighbours neighbours;

  public Cgroups(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  /** A directory, and the name of the topmost one of ours on the way down to it. */
  private record Found(Path directory, String instance) {}

  @Override
  public List<Trace> look(ProcessTable before) throws IOException {
    var found = new ArrayList<Found>();
    for (Mount mount : Mount.readAll()) {
      if (mount.isCgroup()) {
        walk(mount.point(), "", found);
      }
    }
    var traces = new ArrayList<Trace>();
    if (!found.isEmpty()) {
      // ORDER: read after them, so that the process that made one is there to own it.
      ProcessTable processes = ProcessTable.read();
      for (Found each : found) {
        Trace trace = trace(each.directory(), each.instance(), processes);
        // RACE: one that went meanwhile may have lost its owner before it was looked for.
        if (!Files.notExists(each.directory())) {
          traces.add(trace);
        }
      }
    }
    return traces;
  }

  private static void walk(Path directory, String instance, List<Found> found) throws IOException {
    if (hasNoChildren(directory)) {
      return;
    }
    for (Path child : Proc.list(directory)) {
      if (Files.isDirectory(child, LinkOption.NOFOLLOW_LINKS)) {
        String name = child.getFileName().toString();
        String owner = instance.isEmpty() && name.startsWith("ebb") ? name : instance;
        if (!owner.isEmpty()) {
          found.add(new Found(child, owner));
        }
        walk(child, owner, found);
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

  private Trace trace(Path directory, String instance, ProcessTable processes) throws IOException {
    // KERNEL: cgroup.procs of a threaded cgroup cannot be read; v1 has tasks instead.
    Path version2 = directory.resolve("cgroup.threads");
    var members = Proc.lines(Files.exists(version2) ? version2 : directory.resolve("tasks"));
    return new Trace(
        Invariant.I4,
        "cgroup",
        directory.toString(),
        members.isEmpty() ? directory + " (empty)" : directory + " with threads " + members,
        neighbours.ownCgroup(directory, instance, processes));
  }
}
