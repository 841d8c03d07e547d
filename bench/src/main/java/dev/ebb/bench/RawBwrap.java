package dev.ebb.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * bwrap by hand with the isolation of a box, but for cgroups, limits, seccomp and a uid of its own.
 */
final class RawBwrap {
  private static final List<String> OPTIONS =
      List.of(
          "bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup",
          "--unshare-net --disable-userns --clearenv --hostname box --uid 1000 --gid 1000",
          "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin",
          "--symlink usr/lib /lib --symlink usr/lib64 /lib64");

  private static final List<String> ETC =
      List.of(
          "alternatives",
          "fonts",
          "ld.so.cache",
          "mime.types",
          "protocols",
          "services",
          "ssl",
          "passwd",
          "group",
          "nsswitch.conf",
          "hosts");

  private static final List<String> WRITABLE =
      List.of(
          "--proc /proc --dev /dev --ro-bind /proc/sys /proc/sys",
          "--size 67108864 --perms 1777 --tmpfs /dev/shm --remount-ro /dev",
          "--size 67108864 --perms 1777 --tmpfs /tmp",
          "--size 268435456 --tmpfs /workspace --remount-ro / --chdir /workspace --");

  private RawBwrap() {}

  /** Like {@link #commandLine}, with paths of bwrap and of the command: no PATH is needed. */
  static List<String> byPath(List<String> command) {
    var inside = new ArrayList<>(command);
    if (!inside.getFirst().startsWith("/")) {
      inside.set(0, "/usr/bin/" + inside.getFirst());
    }
    var words = commandLine(inside.toArray(String[]::new));
    words.set(0, "/usr/bin/bwrap");
    return words;
  }

  static List<String> commandLine(String... command) {
    var words = new ArrayList<String>();
    OPTIONS.forEach(line -> words.addAll(List.of(line.split(" "))));
    for (String name : ETC) {
      if (Files.exists(Path.of("/etc", name))) {
        words.addAll(List.of("--ro-bind", "/etc/" + name, "/etc/" + name));
      }
    }
    WRITABLE.forEach(line -> words.addAll(List.of(line.split(" "))));
    words.addAll(List.of(command));
    return words;
  }
}
