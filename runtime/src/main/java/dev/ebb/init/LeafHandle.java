package dev.ebb.init;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The access to the cgroup of a command that init receives.
 *
 * <p>SAFETY: init belongs to the box, and code of the box may control it. From a descriptor of the
 * directory itself {@code openat(leaf, "../..")} would lead it to the root of the host. So it gets
 * the directory as a detached mount, which has nothing above it; an engine that may not mount hands
 * over the files that init needs, one by one, and commands join the cgroup by themselves, which
 * takes the kernel some milliseconds.
 *
 * @param fds in the order of the protocol
 */
public record LeafHandle(Form form, List<Fd> fds) {
  private static final Set<Errno> MAY_NOT_MOUNT =
      Set.of(Errno.EPERM, Errno.EACCES, Errno.ENOSYS, Errno.EINVAL);

  /** How it comes. */
  public enum Form {
    /** There is no cgroup. */
    NONE,
    DIRECTORY,
    FILES
  }

  public static final LeafHandle NONE = new LeafHandle(Form.NONE, List.of());

  /** Opens it. */
  public static LeafHandle open(Scope scope, Path leaf) throws KernelException {
    try {
      return new LeafHandle(Form.DIRECTORY, List.of(Fd.openDetached(scope, leaf)));
    } catch (KernelException e) {
      if (!MAY_NOT_MOUNT.contains(e.errno())) {
        throw e;
      }
    }
    return files(scope, leaf);
  }

  /** KERNEL: there is no cgroup.kill before Linux 5.14. */
  private static LeafHandle files(Scope scope, Path leaf) throws KernelException {
    var fds = new ArrayList<Fd>();
    fds.add(Fd.open(scope, leaf.resolve("cgroup.procs"), Fd.Flag.READ_WRITE));
    fds.add(Fd.open(scope, leaf.resolve("cgroup.events"), Fd.Flag.READ));
    try {
      fds.add(Fd.open(scope, leaf.resolve("cgroup.kill"), Fd.Flag.WRITE));
    } catch (KernelException e) {
      if (!e.is(Errno.ENOENT)) {
        throw e;
      }
    }
    return new LeafHandle(Form.FILES, List.copyOf(fds));
  }
}
