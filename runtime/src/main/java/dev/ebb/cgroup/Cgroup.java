package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** One cgroup directory, of either version; its methods bear the names of the kernel's files. */
public record Cgroup(Path path) {
  private static final long ROUND_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  public static Cgroup create(Path path) throws KernelException {
    Filesystem.mkdir(path, 0755);
    return new Cgroup(path);
  }

  public Cgroup child(String name) {
    return new Cgroup(path.resolve(name));
  }

  public boolean exists() {
    return Files.isDirectory(path);
  }

  public boolean isVersion2() {
    return Files.exists(path.resolve("cgroup.events"));
  }

  /** The processes in this very cgroup, not in its children. */
  public List<Integer> procs() throws KernelException {
    return CgroupFile.of(path, "cgroup.procs").read().lines().map(Integer::valueOf).toList();
  }

  /** The processes in this cgroup and all below it. */
  public List<Integer> allProcs() throws KernelException {
    var all = new ArrayList<Integer>();
    for (Cgroup cgroup : bottomUp()) {
      try {
        all.addAll(cgroup.procs());
      } catch (KernelException e) {
        // KERNEL: a threaded cgroup does not list processes (EOPNOTSUPP); its domain ancestor,
        // which comes later in this walk, lists them. One removed meanwhile has none.
        if (!e.is(Errno.EOPNOTSUPP) && !isGone(e)) {
          throw e;
        }
      }
    }
    return all;
  }

  /** True while a living process is in it or below. Version 2 only. */
  public boolean isPopulated() throws KernelException {
    return CgroupFile.of(path, "cgroup.events")
        .value("populated")
        .map(populated -> populated != 0)
        .orElseThrow(() -> new KernelException("find populated in " + path, Errno.ENODATA));
  }

  public void freeze(boolean frozen) throws KernelException {
    CgroupFile.of(path, "cgroup.freeze").write(frozen ? "1" : "0");
  }

  /** KERNEL: a process frozen by v1 ignores SIGKILL until it is thawed. */
  public void thaw() throws KernelException {
    try {
      CgroupFile.of(path, "freezer.state").writeIfPresent("THAWED");
    } catch (KernelException e) {
      if (!isGone(e)) {
        throw e;
      }
    }
  }

  /** Sends SIGKILL to all in it and below; neither waits nor reaps. An absent cgroup has nobody. */
  public void kill() throws KernelException {
    try {
      if (!CgroupFile.of(path, "cgroup.kill").writeIfPresent("1") && exists()) {
        killOneByOne();
      }
    } catch (KernelException e) {
      if (e.is(Errno.EOPNOTSUPP)) {
        // KERNEL: a threaded cgroup cannot be killed by itself.
        killOneByOne();
      } else if (!isGone(e)) {
        throw e;
      }
    }
  }

  /** Before Linux 5.14, and in v1: nobody forks while frozen, and a frozen member dies at once. */
  private void killOneByOne() throws KernelException {
    boolean frozen = CgroupFile.of(path, "cgroup.freeze").writeIfPresent("1");
    Deadline deadline = Deadline.in(CgroupRemoval.BOUND);
    for (List<Integer> left = allProcs();
        !left.isEmpty() && !deadline.isOver();
        left = allProcs()) {
      for (int pid : left) {
        killMember(pid);
      }
      LockSupport.parkNanos(ROUND_NANOS);
    }
    if (frozen) {
      freeze(false);
    }
  }

  private void killMember(int pid) throws KernelException {
    try (var scope = new Scope()) {
      Pidfd pidfd = Pidfd.open(scope, pid);
      // RACE: the number may have been reused before the pidfd was opened, not after: if the
      // cgroup still lists it, the pidfd is the member's.
      if (allProcs().contains(pid)) {
        pidfd.signal(Signal.KILL);
      }
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH)) {
        throw e;
      }
    }
  }

  /** This cgroup and all below it, children before their parents. */
  public List<Cgroup> bottomUp() throws KernelException {
    var all = new ArrayList<Cgroup>();
    if (exists()) {
      collect(this, all);
    }
    return all;
  }

  private static void collect(Cgroup cgroup, List<Cgroup> into) throws KernelException {
    try (var children = Files.newDirectoryStream(cgroup.path, Files::isDirectory)) {
      for (Path child : children) {
        collect(new Cgroup(child), into);
      }
    } catch (NoSuchFileException e) {
      return;
    } catch (IOException e) {
      throw new KernelException("list " + cgroup.path + " (" + e + ")", Errno.EIO);
    }
    into.add(cgroup);
  }

  /** The directory is gone: its files answer ENOENT at open, or ENODEV when it went meanwhile. */
  static boolean isGone(KernelException e) {
    return e.is(Errno.ENOENT) || e.is(Errno.ENODEV);
  }
}
