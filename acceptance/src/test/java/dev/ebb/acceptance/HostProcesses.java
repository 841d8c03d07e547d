package dev.ebb.acceptance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The process table of the host, zombies included. */
final class HostProcesses {
  private HostProcesses() {}

  /**
   * All that descend from a process: of a daemon the boxes, what runs in them, and its forkserver.
   */
  static Set<Long> below(long ancestor) {
    Map<Long, Long> parents = parents();
    var found = new TreeSet<Long>();
    for (long pid : parents.keySet()) {
      Long at = parents.get(pid);
      for (int depth = 0; at != null && depth < parents.size(); depth++) {
        if (at == ancestor) {
          found.add(pid);
          break;
        }
        at = parents.get(at);
      }
    }
    return found;
  }

  /** Returns them without the processes that make boxes, which stay with their daemon. */
  static Set<Long> boxedBelow(long daemon) {
    return below(daemon).stream().filter(pid -> !isForkserver(pid)).collect(Collectors.toSet());
  }

  /** The pid 1s of a daemon's boxes. */
  static List<ProcessHandle> inits(long daemon) {
    return ProcessHandle.of(daemon).stream()
        .flatMap(ProcessHandle::children)
        .filter(child -> !isForkserver(child.pid()))
        .toList();
  }

  private static boolean isForkserver(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/comm")).strip().equals("ebb-forkserver");
    } catch (IOException e) {
      // Gone.
      return false;
    }
  }

  private static Map<Long, Long> parents() {
    var parents = new HashMap<Long, Long>();
    try (var entries = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (Path entry : entries) {
        long parent = parent(entry);
        if (parent >= 0) {
          parents.put(Long.parseLong(entry.getFileName().toString()), parent);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return parents;
  }

  /** Negative for a process that has gone meanwhile. */
  private static long parent(Path entry) {
    try {
      String stat = Files.readString(entry.resolve("stat"), StandardCharsets.ISO_8859_1);
      return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[1]);
    } catch (IOException e) {
      return -1;
    }
  }

  /** Returns those that were not reaped. */
  static Set<Long> zombiesBelow(long ancestor) {
    return below(ancestor).stream().filter(HostProcesses::isZombie).collect(Collectors.toSet());
  }

  private static boolean isZombie(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) == 'Z';
    } catch (IOException e) {
      // Gone.
      return false;
    }
  }
}
