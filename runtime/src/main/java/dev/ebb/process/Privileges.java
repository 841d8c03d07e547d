package dev.ebb.process;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import java.nio.file.Path;
import java.util.List;

/**
 * The privileges of this process.
 *
 * @param capabilities the effective capabilities, a bit each
 * @param uids the uids that exist in our user namespace
 */
public record Privileges(int uid, long capabilities, List<Range> uids) {
  public static final int CAP_CHOWN = 0;
  public static final int CAP_DAC_OVERRIDE = 1;
  public static final int CAP_SETGID = 6;
  public static final int CAP_SETUID = 7;
  public static final int CAP_NET_ADMIN = 12;
  public static final int CAP_SYS_CHROOT = 18;
  public static final int CAP_SYS_ADMIN = 21;
  public static final int CAP_SYS_RESOURCE = 24;

  /** Uids from {@code first} on. */
  public record Range(long first, long count) {
    public long end() {
      return first + count;
    }
  }

  public Privileges {
    uids = List.copyOf(uids);
  }

  public static Privileges ofThisProcess() throws KernelException {
    return new Privileges(
        Self.uid(),
        effective(Filesystem.read(Path.of("/proc/self/status"))),
        ranges(Filesystem.read(Path.of("/proc/self/uid_map"))));
  }

  static long effective(String status) {
    return status
        .lines()
        .filter(line -> line.startsWith("CapEff:"))
        .map(line -> Long.parseUnsignedLong(line.substring("CapEff:".length()).strip(), 16))
        .findFirst()
        .orElse(0L);
  }

  /** KERNEL: user_namespaces(7): a line a range, first here, first in the parent, how many. */
  static List<Range> ranges(String map) {
    return map.lines()
        .map(line -> line.strip().split(" +"))
        .map(words -> new Range(Long.parseLong(words[0]), Long.parseLong(words[2])))
        .toList();
  }

  public boolean has(int capability) {
    return (capabilities >> capability & 1) != 0;
  }

  /**
   * Returns whether this process may make all kinds of namespaces without a user namespace first.
   */
  public boolean canMakeNamespaces() {
    return uid == 0
        && canChangeUser()
        && has(CAP_CHOWN)
        && has(CAP_DAC_OVERRIDE)
        && has(CAP_NET_ADMIN)
        && has(CAP_SYS_CHROOT)
        && has(CAP_SYS_ADMIN);
  }

  /** Returns whether this process may start processes as other users. */
  public boolean canChangeUser() {
    return has(CAP_SETUID) && has(CAP_SETGID);
  }
}
