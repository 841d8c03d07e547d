package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.KernelFeatures;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The restrictions that keep this process from making user namespaces or using them.
 *
 * @param userNamespaces the most that may exist; also 0 where the kernel has none
 * @param unprivilegedClone Debian's old switch
 * @param appArmorRestricts Ubuntu's: user namespaces are empty of privileges
 * @param seccomp whether this process has a filter
 * @param namespacesFiltered whether the filter forbids namespaces
 * @param maskedProc paths of mounts that hide parts of /proc
 */
public record Confinement(
    long userNamespaces,
    boolean unprivilegedClone,
    boolean appArmorRestricts,
    boolean seccomp,
    boolean namespacesFiltered,
    List<String> maskedProc) {

  /** Mounts that hosts usually have there, and that hide nothing. */
  private static final List<String> HARMLESS =
      List.of("/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd", "/proc/xen");

  public Confinement {
    maskedProc = List.copyOf(maskedProc);
  }

  public static Confinement ofThisProcess() throws KernelException {
    return of(Path.of("/proc"), KernelFeatures::areNamespacesForbidden);
  }

  /** Reads {@code proc}, and asks the kernel whether there is a filter. */
  static Confinement of(Path proc, BooleanSupplier forbidsNamespaces) throws KernelException {
    boolean isFiltered = isFiltered(Filesystem.read(proc.resolve("self/status")));
    Path settings = proc.resolve("sys");
    return new Confinement(
        number(settings.resolve("user/max_user_namespaces")).orElse(0L),
        number(settings.resolve("kernel/unprivileged_userns_clone")).orElse(1L) != 0,
        number(settings.resolve("kernel/apparmor_restrict_unprivileged_userns")).orElse(0L) != 0,
        isFiltered,
        isFiltered && forbidsNamespaces.getAsBoolean(),
        masks(Filesystem.read(proc.resolve("self/mountinfo"))));
  }

  private static Optional<Long> number(Path setting) throws KernelException {
    try {
      return Optional.of(Long.valueOf(Filesystem.read(setting).strip()));
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  static boolean isFiltered(String status) {
    return status.lines().anyMatch(line -> line.matches("Seccomp:\\s+2"));
  }

  /** KERNEL: proc(5), mountinfo: the fifth word is the mount point. */
  static List<String> masks(String mountinfo) {
    return mountinfo
        .lines()
        .map(line -> line.split(" ")[4])
        .filter(point -> point.startsWith("/proc/") && !HARMLESS.contains(point))
        .toList();
  }
}
