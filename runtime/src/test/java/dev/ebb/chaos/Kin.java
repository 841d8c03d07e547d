package dev.ebb.chaos;

import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Processes by what the kernel knows of them, parent, cgroup and uid; never by their names. */
final class Kin {
  private static final long FIRST_BOX_USER = 0x7000_0000;

  private Kin() {}

  /** The living children of {@code parent} that are in no box: those that make boxes. */
  static List<ProcessRef> outsides(int parent) throws IOException {
    boolean hasCgroups = Hierarchies.detect().unified().isPresent();
    var outsides = new ArrayList<ProcessRef>();
    for (int pid : children(parent)) {
      if (!(hasCgroups ? isInEbbsCgroup(pid) : isInBox(pid))) {
        living(pid).ifPresent(outsides::add);
      }
    }
    return outsides;
  }

  private static boolean isInEbbsCgroup(int pid) {
    return ProcFs.cgroup(pid).filter(cgroup -> cgroup.startsWith("/ebb-")).isPresent();
  }

  /** By its user, or where that is ours, by its pid namespace. */
  private static boolean isInBox(int pid) throws IOException {
    return uid(pid).map(Long::valueOf).filter(number -> number >= FIRST_BOX_USER).isPresent()
        || isBelowOurPidNamespace(pid);
  }

  /** KERNEL: NSpid has a number for each namespace from that of the reader's proc on. */
  private static boolean isBelowOurPidNamespace(int pid) throws IOException {
    return status(pid, "NSpid:").filter(words -> words.length > 2).isPresent();
  }

  /**
   * The living processes of all boxes on a ledger: those in the cgroups of its instance or, without
   * cgroups, those that {@link #boxed} finds.
   */
  static List<ProcessRef> members(List<Holding> ledger) throws IOException, KernelException {
    Optional<Path> unified = Hierarchies.detect().unified();
    var pids = new ArrayList<Integer>();
    if (unified.isEmpty()) {
      pids.addAll(boxed(ledger));
    }
    for (Path instance : instanceCgroups(ledger)) {
      if (instance.startsWith(unified.orElseThrow())) {
        pids.addAll(new Cgroup(instance).allProcs());
      }
    }
    pids.removeAll(forkservers(ledger));
    return pids.stream().flatMap(pid -> living(pid).stream()).toList();
  }

  /** Processes that make boxes and are in none. */
  static List<Integer> forkservers(List<Holding> ledger) {
    return ledger.stream()
        .filter(holding -> holding.kind() == Kind.PROCESS && isOfForkserver(holding))
        .map(holding -> ProcessRef.parse(holding.subject()).pid())
        .toList();
  }

  private static boolean isOfForkserver(Holding holding) {
    return holding.box().equals(ForkserverBackend.NAME);
  }

  /** The directories of the instance itself, of which each hierarchy has one. */
  static List<Path> instanceCgroups(List<Holding> ledger) {
    return ledger.stream()
        .filter(holding -> holding.kind() == Kind.CGROUP && holding.box().isEmpty())
        .map(holding -> Path.of(holding.subject()))
        .toList();
  }

  /** The host uids of all boxes on a ledger. */
  private static Set<String> users(List<Holding> ledger) {
    return ledger.stream()
        .filter(holding -> holding.kind() == Kind.USER && !isOfForkserver(holding))
        .map(Holding::subject)
        .collect(Collectors.toSet());
  }

  /**
   * Every process below this JVM, which is a subreaper, dead or alive, that runs as the user of a
   * box on the ledger; another home, of another JVM, may lend the same users. All boxes of an
   * ordinary user run as that user, so this returns every process of the user that is in a box.
   */
  static List<Integer> boxed(List<Holding> ledger) throws IOException {
    boolean shared = !Feature.ROOT.isPresent();
    Set<String> users = shared ? Set.of(Integer.toString(Self.uid())) : users(ledger);
    var pids = new ArrayList<Integer>();
    for (int pid : all()) {
      if (uid(pid).filter(users::contains).isPresent()
          && (!shared || isBelowOurPidNamespace(pid))
          && isBelowUs(pid)) {
        pids.add(pid);
      }
    }
    return pids;
  }

  static Optional<ProcessRef> living(int pid) {
    return ProcFs.stat(pid)
        .filter(stat -> !stat.isZombie())
        .map(stat -> new ProcessRef(pid, stat.startTime()));
  }

  static String describe(int pid) {
    return ProcFs.stat(pid) + " " + ProcFs.waitChannel(pid) + " " + ProcFs.commandLine(pid);
  }

  private static boolean isBelowUs(int pid) {
    int self = Math.toIntExact(ProcessHandle.current().pid());
    Optional<Integer> ancestor = Optional.of(pid);
    while (ancestor.isPresent() && ancestor.get() != self) {
      ancestor = parent(ancestor.get());
    }
    return ancestor.isPresent();
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

  /** Returns the kinds of its descriptors. */
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
  private static Optional<String> uid(int pid) throws IOException {
    return status(pid, "Uid:").map(words -> words[1]);
  }

  /** The words of one line of its status. */
  private static Optional<String[]> status(int pid, String field) throws IOException {
    return lines(directory(pid).resolve("status")).stream()
        .filter(line -> line.startsWith(field))
        .map(line -> line.split("\\s+"))
        .findFirst();
  }

  /** Every child of a process, zombies too. */
  static List<Integer> children(int parent) throws IOException {
    // KERNEL: each thread lists its own. RACE: a thread that ends leaves them to the first living
    // thread, so that one is read last.
    var children = new LinkedHashSet<Integer>();
    for (Path task : entries(directory(parent).resolve("task")).reversed()) {
      for (String line : lines(task.resolve("children"))) {
        Stream.of(line.split(" ")).map(Integer::valueOf).forEach(children::add);
      }
    }
    return List.copyOf(children);
  }

  static List<ProcessRef> livingChildren(int parent) throws IOException {
    return children(parent).stream().flatMap(pid -> living(pid).stream()).toList();
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
