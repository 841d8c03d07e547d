package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Reads /proc. A process that vanished while being read is simply absent. */
public final class ProcFs {
  private static final Path PROC = Path.of("/proc");
  private static final int COMMAND_LINE_MOST = 4096;

  private ProcFs() {}

  /** The line of /proc/PID/stat that Ebb needs. */
  public record Stat(int pid, char state, int parent, int session, int threads, long startTime) {
    /** KERNEL: a process whose first thread has ended shows as Z while another one lives. */
    public boolean isZombie() {
      return (state == 'Z' || state == 'X') && threads <= 1;
    }
  }

  public static Optional<Stat> stat(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("stat")).map(ProcFs::parse);
  }

  private static Stat parse(String line) {
    // KERNEL: the command may hold anything, blanks and parentheses too; the last ")" ends it.
    int close = line.lastIndexOf(')');
    String[] rest = line.substring(close + 2).strip().split(" ");
    return new Stat(
        Integer.parseInt(line.substring(0, line.indexOf(' '))),
        rest[0].charAt(0),
        Integer.parseInt(rest[1]),
        Integer.parseInt(rest[3]),
        Integer.parseInt(rest[17]),
        Long.parseLong(rest[19]));
  }

  /** The real user of a process, by this namespace's numbers; also of a zombie. */
  public static OptionalInt uid(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("status"))
        .flatMap(text -> text.lines().filter(line -> line.startsWith("Uid:")).findFirst())
        .map(line -> OptionalInt.of(Integer.parseUnsignedInt(line.split("\t")[1])))
        .orElse(OptionalInt.empty());
  }

  /** The users that any process has which can be seen from here. */
  public static Set<Integer> uids() {
    return all().stream()
        .flatMapToInt(pid -> uid(pid).stream())
        .boxed()
        .collect(Collectors.toSet());
  }

  /** The cgroups of a process in version 1, by controller, as they are seen from here. */
  public static Map<String, String> version1Cgroups(int pid) {
    var cgroups = new HashMap<String, String>();
    read(PROC.resolve(Integer.toString(pid)).resolve("cgroup")).stream()
        .flatMap(String::lines)
        // KERNEL: number, controllers, path; a path may have colons of its own.
        .map(line -> line.split(":", 3))
        .forEach(
            words -> {
              for (String controller : words[1].split(",")) {
                cgroups.put(controller, words[2]);
              }
            });
    return cgroups;
  }

  /** The cgroup v2 path of a process, as it is seen from here; also of a zombie. */
  public static Optional<String> cgroup(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("cgroup"))
        .flatMap(text -> text.lines().filter(line -> line.startsWith("0::")).findFirst())
        .map(line -> line.substring("0::".length()));
  }

  public static String waitChannel(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("wchan")).orElse("?");
  }

  /** The file that a process gave to the system call it is in, if it gave one. */
  public static Optional<String> fileOfSystemCall(int pid) {
    Path process = PROC.resolve(Integer.toString(pid));
    try {
      // KERNEL: proc(5), syscall: number, six arguments, stack pointer, program counter; or a word.
      String[] words = Filesystem.read(process.resolve("syscall")).strip().split(" ");
      if (words.length < 2) {
        return Optional.empty();
      }
      String fd = Long.toUnsignedString(Long.parseUnsignedLong(words[1].substring(2), 16));
      return Optional.of(Files.readSymbolicLink(process.resolve("fd").resolve(fd)).toString());
    } catch (KernelException | IOException e) {
      // Gone, not ours to look at, or its first argument is no descriptor.
      return Optional.empty();
    }
  }

  /**
   * Returns the name of a process: the first 15 bytes of its program's name, or of the name it
   * chose.
   */
  public static Optional<String> name(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("comm")).map(String::strip);
  }

  /** How many threads of this host run, or would if there were a processor for them. */
  public static int runnable() {
    return read(PROC.resolve("loadavg"))
        .map(text -> text.split(" ")[3])
        .map(tasks -> Integer.valueOf(tasks.substring(0, tasks.indexOf('/'))))
        .orElse(0);
  }

  /**
   * The beginning of the command line, blanks between words; empty for a zombie or kernel thread.
   * SAFETY: a process may make its own as long as it has memory.
   */
  public static String commandLine(int pid) {
    byte[] bytes = new byte[COMMAND_LINE_MOST];
    try (var scope = new Scope()) {
      Path file = PROC.resolve(Integer.toString(pid)).resolve("cmdline");
      int n = Math.max(0, Fd.open(scope, file, Fd.Flag.READ).read(bytes, 0, bytes.length));
      String text = new String(bytes, 0, n, StandardCharsets.ISO_8859_1).replace('\0', ' ').strip();
      return n < bytes.length ? text : text + "…";
    } catch (KernelException e) {
      // KERNEL: a process that died after the open answers ESRCH.
      if (e.is(Errno.ENOENT) || e.is(Errno.ESRCH)) {
        return "";
      }
      throw new UncheckedIOException(new IOException(e));
    }
  }

  /** All of the command line, of a process that is ours. */
  static String wholeCommandLine(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("cmdline"))
        .map(text -> text.replace('\0', ' ').strip())
        .orElse("");
  }

  /** The cgroups of a process in all hierarchies, as they are seen from here. */
  public static List<String> cgroups(int pid) {
    // KERNEL: number, controllers, path; a path may have colons of its own.
    return cgroupLines(pid).stream().map(line -> line.split(":", 3)[2]).toList();
  }

  /** The lines of /proc/PID/cgroup, one a hierarchy. */
  public static List<String> cgroupLines(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("cgroup")).stream()
        .flatMap(String::lines)
        .toList();
  }

  /** A soft limit of a process, by its name in its limits file. */
  public static long limit(String text, String name) {
    String line = text.lines().filter(each -> each.startsWith(name)).findFirst().orElseThrow();
    String soft = line.substring(name.length()).strip().split(" +")[0];
    return soft.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(soft);
  }

  /** How many files this process may have open. */
  public static long openFilesLimit() throws KernelException {
    return limit(Filesystem.read(Path.of("/proc/self/limits")), "Max open files");
  }

  /** Every process that can be seen from here, zombies included. */
  public static List<Integer> all() {
    var pids = new ArrayList<Integer>();
    try (var entries = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path entry : entries) {
        pids.add(Integer.valueOf(String.valueOf(entry.getFileName())));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot list " + PROC, e);
    }
    return pids;
  }

  /** A process and all that descend from it, if they live, by pid. */
  public static SortedMap<Integer, Stat> tree(int root) {
    var all = new HashMap<Integer, Stat>();
    for (int pid : all()) {
      stat(pid).ifPresent(stat -> all.put(pid, stat));
    }
    var tree = new TreeMap<>(all);
    tree.values().removeIf(stat -> stat.isZombie() || !descends(all, stat.pid(), root));
    return tree;
  }

  /** Returns whether, according to {@code all}, a process is {@code root} or descends from it. */
  public static boolean descends(Map<Integer, Stat> all, int pid, int root) {
    int each = pid;
    for (int i = 0; i < all.size() && each != root; i++) {
      Stat stat = all.get(each);
      if (stat == null) {
        return false;
      }
      each = stat.parent();
    }
    return each == root;
  }

  /** The pid of a process in the innermost namespace it is in. */
  public static Optional<Integer> pidInside(int pid) {
    return pids(pid).map(pids -> Integer.valueOf(pids[pids.length - 1]));
  }

  /**
   * Returns how many pid namespaces lie between it and the processes that see it as {@code pid}.
   */
  public static int depth(int pid) {
    return pids(pid).map(pids -> pids.length - 1).orElse(0);
  }

  /** KERNEL: proc(5), status: its pid in each namespace that it is in, from ours inwards. */
  private static Optional<String[]> pids(int pid) {
    return read(PROC.resolve(Integer.toString(pid)).resolve("status"))
        .flatMap(text -> text.lines().filter(line -> line.startsWith("NSpid:")).findFirst())
        .map(line -> line.substring("NSpid:".length()).strip().split("\t"));
  }

  /** Every child of this process, zombies included. */
  public static List<Integer> children() {
    // KERNEL: children are listed by the thread that spawned or adopted them. RACE: one that ends
    // leaves them to the first that lives. So that is asked last, or they might be with neither.
    var children = new LinkedHashSet<Integer>();
    for (Path task : threads().reversed()) {
      read(task.resolve("children"))
          .ifPresent(
              text -> {
                for (String pid : text.strip().split(" ")) {
                  if (!pid.isEmpty()) {
                    children.add(Integer.valueOf(pid));
                  }
                }
              });
    }
    return List.copyOf(children);
  }

  /** The children of {@code pid} that are dead and that it has not waited for. */
  public static List<Stat> zombies(int pid) {
    var zombies = new ArrayList<Stat>();
    try (var tasks =
        Files.newDirectoryStream(PROC.resolve(Integer.toString(pid)).resolve("task"))) {
      for (Path task : tasks) {
        for (String child : read(task.resolve("children")).orElse("").strip().split(" ")) {
          if (!child.isEmpty()) {
            stat(Integer.parseInt(child)).filter(Stat::isZombie).ifPresent(zombies::add);
          }
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      // The process has ended meanwhile, and its children have another parent.
      return List.of();
    }
    return zombies;
  }

  /** In the order of the kernel, which is that of their start. */
  private static List<Path> threads() {
    var threads = new ArrayList<Path>();
    try (var tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      tasks.forEach(threads::add);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot list our own threads", e);
    }
    return threads;
  }

  /** The text, or nothing if the process is gone. */
  private static Optional<String> read(Path path) {
    try {
      return Optional.of(Filesystem.read(path));
    } catch (KernelException e) {
      // KERNEL: a process that died after the open answers ESRCH.
      if (e.is(Errno.ENOENT) || e.is(Errno.ESRCH)) {
        return Optional.empty();
      }
      throw new UncheckedIOException(new IOException(e));
    }
  }
}
