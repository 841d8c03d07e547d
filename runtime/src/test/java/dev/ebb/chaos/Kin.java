package dev.ebb.chaos;

import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Processes by what the kernel knows of them, parent and cgroup; never by their names. */
final class Kin {
  private Kin() {}

  /**
   * The living children of {@code parent} that are in no cgroup of Ebb's: those that make boxes.
   */
  static List<ProcessRef> outsides(int parent) throws IOException {
    return children(parent).stream()
        .filter(pid -> ProcFs.cgroup(pid).filter(Kin::isEbbs).isEmpty())
        .flatMap(pid -> living(pid).stream())
        .toList();
  }

  private static boolean isEbbs(String cgroup) {
    return cgroup.startsWith("/ebb-");
  }

  /** The living processes in the cgroups of an instance, whichever box they are in. */
  static List<ProcessRef> members(String instance) throws IOException, KernelException {
    Path unified = Hierarchies.detect().unified().orElseThrow();
    return new Cgroup(unified.resolve(instance))
        .allProcs().stream().flatMap(pid -> living(pid).stream()).toList();
  }

  static Optional<ProcessRef> living(int pid) {
    return ProcFs.stat(pid)
        .filter(stat -> !stat.isZombie())
        .map(stat -> new ProcessRef(pid, stat.startTime()));
  }

  static Optional<Integer> parent(int pid) {
    return ProcFs.stat(pid).map(ProcFs.Stat::parent);
  }

  /** The names of its threads, as the kernel has them. */
  static List<String> threads(int pid) throws IOException {
    var names = new ArrayList<String>();
    for (Path task : entries(directory(pid).resolve("task"))) {
      names.addAll(lines(task.resolve("comm")));
    }
    return names;
  }

  /** What its descriptors are. */
  static List<String> descriptors(int pid) throws IOException {
    var targets = new ArrayList<String>();
    for (Path fd : entries(directory(pid).resolve("fd"))) {
      try {
        targets.add(Files.readSymbolicLink(fd).toString());
      } catch (IOException e) {
        targets.addAll(gone(e));
      }
    }
    return targets;
  }

  /** The real uid. */
  static Optional<String> uid(int pid) throws IOException {
    return lines(directory(pid).resolve("status")).stream()
        .filter(line -> line.startsWith("Uid:"))
        .map(line -> line.split("\\s+")[1])
        .findFirst();
  }

  /** Every child of a process, zombies too. */
  static List<Integer> children(int parent) throws IOException {
    // KERNEL: each thread lists its own.
    var children = new ArrayList<Integer>();
    for (Path task : entries(directory(parent).resolve("task"))) {
      for (String line : lines(task.resolve("children"))) {
        Stream.of(line.split(" ")).map(Integer::valueOf).forEach(children::add);
      }
    }
    return children;
  }

  /** All below a process, zombies too. */
  static List<Integer> descendants(int ancestor) throws IOException {
    var all = new ArrayList<>(children(ancestor));
    for (int i = 0; i < all.size(); i++) {
      all.addAll(children(all.get(i)));
    }
    return all;
  }

  static List<Integer> all() throws IOException {
    return entries(Path.of("/proc")).stream()
        .map(path -> path.getFileName().toString())
        .filter(name -> name.chars().allMatch(Character::isDigit))
        .map(Integer::valueOf)
        .toList();
  }

  private static Path directory(int pid) {
    return Path.of("/proc", Integer.toString(pid));
  }

  private static List<String> lines(Path file) throws IOException {
    try {
      return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return gone(e);
    }
  }

  private static List<Path> entries(Path directory) throws IOException {
    var entries = new ArrayList<Path>();
    try (var stream = Files.newDirectoryStream(directory)) {
      stream.forEach(entries::add);
      return entries;
    } catch (DirectoryIteratorException e) {
      return entries;
    } catch (IOException e) {
      return gone(e);
    }
  }

  private static <T> List<T> gone(IOException e) throws IOException {
    // KERNEL: a process that ended after the open answers ESRCH.
    if (e instanceof NoSuchFileException
        || e instanceof NotDirectoryException
        || String.valueOf(e.getMessage()).contains("No such process")) {
      return List.of();
    }
    throw e;
  }
}
