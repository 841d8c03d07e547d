package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** The open descriptors of a JVM, each by its kind. */
public final class Descriptors implements Detector {
  private static final Pattern NAMESPACE = Pattern.compile("[a-z_]+:\\[\\d+]");
  private static final String ANONYMOUS = "anon_inode:";
  private static final String DELETED = " (deleted)";

  /** Files that the JDK opens at any time and keeps open. */
  private static final Set<String> JDKS =
      Set.of("/dev/random", "/dev/urandom", System.getProperty("java.home") + "/lib/modules");

  private final Path process;

  /** The directory that is open because this process lists its own descriptors. */
  private final String look;

  private Descriptors(Path process, long pid) {
    this.process = process;
    look = "/proc/" + pid + "/fd";
  }

  public static Descriptors ofThisProcess() {
    return new Descriptors(Proc.SELF, ProcessHandle.current().pid());
  }

  public static Descriptors of(int pid) {
    return new Descriptors(Proc.ROOT.resolve(Integer.toString(pid)), pid);
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Path fd : Proc.list(process.resolve("fd"))) {
      var target = Proc.readLink(fd).filter(link -> !isTolerated(link));
      if (target.isPresent()) {
        trace(fd, target.get()).ifPresent(traces::add);
      }
    }
    return traces;
  }

  private boolean isTolerated(String target) {
    // The class loader opens jars as it needs them; the last one is this very look.
    return JDKS.contains(target) || target.endsWith(".jar") || target.equals(look);
  }

  private Optional<Trace> trace(Path fd, String target) throws IOException {
    String number = fd.getFileName().toString();
    var info = Proc.lines(process.resolve("fdinfo").resolve(number));
    if (info.isEmpty()) {
      return Optional.empty();
    }
    // KERNEL: most anonymous inodes are one and the same; an eventfd at least has an id. The path
    // is no identity: a file can be renamed or removed while it is open.
    String identity =
        "fd "
            + number
            + Proc.field(info, "mnt_id").map(id -> " mnt_id " + id).orElse("")
            + Proc.field(info, "ino").map(ino -> " ino " + ino).orElse("")
            + Proc.field(info, "eventfd-id").map(id -> " id " + id).orElse("");
    String details =
        "fd " + number + " " + target + Proc.field(info, "Pid").map(p -> " of pid " + p).orElse("");
    return Optional.of(
        new Trace(Invariant.I7, kind(fd, target) + " descriptor", identity, details));
  }

  private static String kind(Path fd, String target) {
    if (target.startsWith("socket:")) {
      return "socket";
    } else if (target.startsWith("pipe:")) {
      return "pipe";
    } else if (target.startsWith(ANONYMOUS)) {
      return target.substring(ANONYMOUS.length()).replaceAll("[\\[\\]]", "");
    } else if (target.startsWith("/memfd:")) {
      return "memfd";
    } else if (NAMESPACE.matcher(target).matches()) {
      return "namespace";
    } else if (Files.isDirectory(fd)) {
      return "directory";
    } else if (target.endsWith(DELETED)) {
      return "deleted file";
    }
    return Files.isRegularFile(fd) ? "file" : "device";
  }
}
