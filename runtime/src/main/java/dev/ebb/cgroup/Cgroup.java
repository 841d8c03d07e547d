package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.process.SupervisorProcess;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;

/** One cgroup directory, of either version; its methods bear the names of the kernel's files. */
public record Cgroup(Path path) {
  private static final Logger LOG = System.getLogger(Cgroup.class.getName());
  private static final Duration ROUND = Duration.ofMillis(1);

  public static Cgroup create(Path path) throws KernelException {
    Filesystem.mkdir(path, 0755);
    return new Cgroup(path);
  }

  public Cgroup child(String name) {
    return new Cgroup(path.resolve(name));
  }

  /** Moves this process into it, and its supervisor. */
  public void enter() throws KernelException {
    CgroupFile procs = CgroupFile.of(path, "cgroup.procs");
    procs.write("0");
    for (int supervisor : SupervisorProcess.pids()) {
      try {
        procs.write(Integer.toString(supervisor));
      } catch (KernelException e) {
        // A process that has ended meanwhile does not matter.
        if (!e.is(Errno.ESRCH)) {
          throw e;
        }
      }
    }
  }

  public boolean exists() {
    return Files.isDirectory(path);
  }

  public boolean isVersion2() {
    return Files.exists(path.resolve("cgroup.events"));
  }

  /** The processes in this very cgroup, not in its children. */
  public List<Integer> procs() throws KernelException {
    try {
      return numbers("cgroup.procs");
    } catch (KernelException e) {
      if (e.is(Errno.EOPNOTSUPP)) {
        return procsOfThreads();
      }
      throw e;
    }
  }

  /** KERNEL: a threaded cgroup lists threads, but not the processes they belong to. */
  List<Integer> procsOfThreads() throws KernelException {
    var procs = new LinkedHashSet<Integer>();
    for (int thread : numbers("cgroup.threads")) {
      try {
        new CgroupFile(Path.of("/proc/" + thread + "/status"))
            .value("Tgid:")
            .ifPresent(process -> procs.add(process.intValue()));
      } catch (KernelException e) {
        // It has ended meanwhile.
        if (!e.is(Errno.ESRCH)) {
          throw e;
        }
      }
    }
    return List.copyOf(procs);
  }

  private List<Integer> numbers(String file) throws KernelException {
    return CgroupFile.of(path, file).read().lines().map(Integer::valueOf).toList();
  }

  /**
   * Returns the processes in this cgroup and all below it: from its own files or, where these
   * cannot be read, from /proc.
   */
  public List<Integer> allProcs() throws KernelException {
    try {
      return listedProcs();
    } catch (KernelException e) {
      List<Integer> members = ProcMembers.of(path).orElseThrow(() -> e).list();
      LOG.log(Level.DEBUG, "event=cgroup_unreadable, reading /proc reason=\"{0}\"", e.getMessage());
      return members;
    }
  }

  private List<Integer> listedProcs() throws KernelException {
    var all = new LinkedHashSet<Integer>();
    for (Cgroup cgroup : bottomUp()) {
      try {
        all.addAll(cgroup.procs());
      } catch (KernelException e) {
        // A cgroup that was removed meanwhile has none.
        if (!isGone(e)) {
          throw e;
        }
      }
    }
    return List.copyOf(all);
  }

  /** True while a living process is in it or below. Version 2 only. */
  public boolean isPopulated() throws KernelException {
    return isPopulated(CgroupFile.of(path, "cgroup.events").read());
  }

  /** Parses {@code events}, the text of cgroup.events; fails if the field is missing. */
  static boolean isPopulated(String events) throws KernelException {
    return CgroupFile.value(events, "populated")
        .map(populated -> populated != 0)
        .orElseThrow(() -> new KernelException("find populated in cgroup.events", Errno.ENODATA));
  }

  public void freeze(boolean frozen) throws KernelException {
    CgroupFile.of(path, "cgroup.freeze").write(frozen ? "1" : "0");
  }

  /** True when every process in it and below stands still. Version 2 only. */
  public boolean isFrozen() throws KernelException {
    String events = CgroupFile.of(path, "cgroup.events").read();
    return CgroupFile.value(events, "frozen").filter(frozen -> frozen != 0).isPresent();
  }

  /**
   * Sends SIGKILL to all in it and below, by the kernel at once or, where that fails, one by one;
   * does not reap. An absent cgroup has none.
   */
  public void kill() throws KernelException {
    try {
      if (killAtOnce()) {
        return;
      }
    } catch (KernelException e) {
      if (!isGone(e)) {
        killAfter(e);
      }
      return;
    }
    killEach();
  }

  /** A kernel that refuses to kill them all is no reason to leave them alive. */
  private void killAfter(KernelException refused) throws KernelException {
    LOG.log(
        Level.WARNING,
        "event=cgroup_kill_failed, killing one by one reason=\"{0}\"",
        refused.getMessage());
    try {
      killEach();
    } catch (KernelException e) {
      refused.addSuppressed(e);
      throw refused;
    }
  }

  /** False where the kernel cannot: before Linux 5.14, in v1, and in a threaded cgroup. */
  private boolean killAtOnce() throws KernelException {
    try {
      return CgroupFile.of(path, "cgroup.kill").writeIfPresent("1");
    } catch (KernelException e) {
      if (e.is(Errno.EOPNOTSUPP)) {
        return false;
      }
      throw e;
    }
  }

  /**
   * Signals each member, in rounds until there is none or the bound is over. A process that v2
   * froze cannot fork, and a signal kills it at once; a member that cannot be frozen is killed as
   * well.
   */
  public void killEach() throws KernelException {
    if (!exists()) {
      return;
    }
    var failures = new ArrayList<KernelException>();
    attempt(failures, this::thaw);
    attempt(failures, () -> CgroupFile.of(path, "cgroup.freeze").writeIfPresent("1"));
    try {
      attempt(failures, () -> killRounds(Deadline.in(CgroupRemoval.BOUND)));
    } finally {
      attempt(failures, () -> CgroupFile.of(path, "cgroup.freeze").writeIfPresent("0"));
    }
    if (!failures.isEmpty()) {
      KernelException first = failures.removeFirst();
      failures.forEach(first::addSuppressed);
      throw first;
    }
  }

  private interface Attempt {
    void run() throws KernelException;
  }

  private static void attempt(List<KernelException> failures, Attempt attempt) {
    try {
      attempt.run();
    } catch (KernelException e) {
      if (!isGone(e)) {
        failures.add(e);
      }
    }
  }

  /** A member that cannot be killed does not keep the others alive. */
  private void killRounds(Deadline deadline) throws KernelException {
    Optional<ProcMembers> members = ProcMembers.of(path);
    var failures = new ArrayList<KernelException>();
    boolean isEmpty =
        deadline.until(
            ROUND,
            () -> {
              List<Integer> left = allProcs();
              failures.clear();
              for (int pid : left) {
                attempt(failures, () -> killMember(pid, members));
              }
              return left.isEmpty();
            });
    if (!isEmpty && !failures.isEmpty()) {
      throw failures.getFirst();
    }
  }

  /**
   * Thaws it and all below it in the v1 freezer; does nothing in any other hierarchy.
   *
   * <p>KERNEL: a process frozen by v1 ignores SIGKILL until it is thawed.
   */
  public void thaw() throws KernelException {
    for (Cgroup cgroup : bottomUp()) {
      try {
        CgroupFile.of(cgroup.path, "freezer.state").writeIfPresent("THAWED");
      } catch (KernelException e) {
        if (!isGone(e)) {
          throw e;
        }
      }
    }
  }

  private void killMember(int pid, Optional<ProcMembers> members) throws KernelException {
    try (var scope = new Scope()) {
      Pidfd pidfd = Pidfd.open(scope, pid);
      // RACE: the number may have been reused before the pidfd was opened, not after: if it is
      // still a member, the pidfd is the member's.
      // KERNEL: of a process in a threaded cgroup /proc shows where its first thread is.
      if (members.filter(all -> all.holds(pid)).isPresent() || allProcs().contains(pid)) {
        pidfd.signal(Signal.KILL);
      }
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH)) {
        throw e;
      }
    }
  }

  /** This cgroup and all below it, children before their parents; none if it is gone. */
  public List<Cgroup> bottomUp() throws KernelException {
    var all = new ArrayList<Cgroup>();
    collect(this, all);
    return all;
  }

  private static void collect(Cgroup cgroup, List<Cgroup> into) throws KernelException {
    try {
      for (Path child : Filesystem.directories(cgroup.path)) {
        collect(new Cgroup(child), into);
      }
    } catch (KernelException e) {
      if (isGone(e) || e.is(Errno.ENOTDIR)) {
        return;
      }
      throw e;
    }
    into.add(cgroup);
  }

  /** The directory is gone: its files answer ENOENT at open, or ENODEV when it went meanwhile. */
  static boolean isGone(KernelException e) {
    return e.is(Errno.ENOENT) || e.is(Errno.ENODEV);
  }
}
