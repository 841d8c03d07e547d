package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One line of the process table. */
public record ProcessEntry(
    int pid, String command, char state, int parent, long startTime, int uid, String cgroup) {
  private static final int KTHREADD = 2;
  private static final String VERSION_2 = "0::";

  public static List<ProcessEntry> readAll() throws IOException {
    var all = new ArrayList<ProcessEntry>();
    for (Path directory : Proc.list(Proc.ROOT)) {
      if (Character.isDigit(directory.getFileName().toString().charAt(0))) {
        read(directory).ifPresent(all::add);
      }
    }
    return all;
  }

  private static Optional<ProcessEntry> read(Path directory) throws IOException {
    var stat = Proc.read(directory.resolve("stat"));
    if (stat.isEmpty()) {
      return Optional.empty();
    }
    // KERNEL: the command may hold anything, blanks and parentheses too; the last ")" ends it.
    int open = stat.get().indexOf('(');
    int close = stat.get().lastIndexOf(')');
    String[] rest = stat.get().substring(close + 2).split(" ");
    int pid = Integer.parseInt(stat.get().substring(0, open - 1));
    int parent = Integer.parseInt(rest[1]);
    if (pid == KTHREADD || parent == KTHREADD) {
      return Optional.empty();
    }
    var uid = Proc.field(Proc.lines(directory.resolve("status")), "Uid");
    var cgroup =
        Proc.lines(directory.resolve("cgroup")).stream()
            .filter(line -> line.startsWith(VERSION_2))
            .findFirst();
    return Optional.of(
        new ProcessEntry(
            pid,
            stat.get().substring(open + 1, close),
            rest[0].charAt(0),
            parent,
            Long.parseLong(rest[19]),
            uid.map(ids -> (int) Long.parseLong(ids.split("\t")[0])).orElse(-1),
            cgroup.map(line -> line.substring(VERSION_2.length())).orElse("")));
  }

  public boolean isZombie() {
    return state == 'Z' || state == 'X';
  }

  /** It runs, or ran, in a box: no one but Ebb uses these cgroups and uids. */
  boolean isEbbs() {
    return isInCgroupOfEbb() || BoxUids.contains(uid);
  }

  boolean isInCgroupOfEbb() {
    return cgroup.contains("/ebb-");
  }

  Path directory() {
    return Proc.ROOT.resolve(Integer.toString(pid));
  }

  public String describe() throws IOException {
    String commandLine =
        Proc.read(directory().resolve("cmdline")).orElse("").replace('\0', ' ').strip();
    return "pid %d (%s) state %c parent %d uid %d cgroup %s: %s"
        .formatted(pid, command, state, parent, uid, cgroup, commandLine);
  }
}
