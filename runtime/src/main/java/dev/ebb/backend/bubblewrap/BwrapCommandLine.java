package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Network;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The options of bwrap(1) for one box, named as in its manual page. */
public final class BwrapCommandLine {
  /** The uid and gid of a command, as the box sees them. */
  static final String UID_INSIDE = "1000";

  /** Where the outside role of ebb-init stages the n-th mount. */
  private static final String STAGED = "/tmp/";

  private static final String USR = "/usr";

  private static final List<String> SYSTEM = List.of("/bin", "/sbin", "/lib", "/lib32", "/lib64");

  /** The files of /etc that programs need; none reveals users or services of the host. */
  private static final List<String> ETC =
      List.of(
          "R",
          "alternatives",
          "fonts",
          "java-11-openjdk",
          "java-17-openjdk",
          "java-21-openjdk",
          "java-25-openjdk",
          "ld.so.cache",
          "localtime",
          "matplotlibrc",
          "mime.types",
          "os-release",
          "pki",
          "protocols",
          "services",
          "ssl");

  /** Small files made for the box: their content and where it goes. */
  record Made(String content, String path) {}

  static final List<Made> MADE =
      List.of(
          new Made(
              """
              root:x:0:0:root:/:/usr/sbin/nologin
              box:x:1000:1000:box:/tmp/home:/bin/bash
              nobody:x:65534:65534:nobody:/:/usr/sbin/nologin
              """,
              "/etc/passwd"),
          new Made("root:x:0:\nbox:x:1000:\nnogroup:x:65534:\n", "/etc/group"),
          new Made(
              "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\n",
              "/etc/nsswitch.conf"),
          new Made("127.0.0.1 localhost box\n::1 localhost\n", "/etc/hosts"));

  private final List<String> words = new ArrayList<>();

  private BwrapCommandLine() {}

  /**
   * The options, without the command.
   *
   * @param firstFd the descriptors from here on are, in order, those of {@link #MADE} and the files
   */
  static List<String> of(SandboxSpec spec, int firstFd) {
    var line = new BwrapCommandLine();
    line.namespaces(spec);
    line.system(spec.network());
    // KERNEL: the sysctls of the ipc and pid namespaces belong to their maker, the uid of the box.
    line.add("--ro-bind", "/proc/sys", "/proc/sys");
    line.made(firstFd);
    line.writable(spec.disk(), spec.temporary());
    line.mounts(spec);
    line.files(spec, firstFd + MADE.size());
    line.add("--remount-ro", "/", "--chdir", "/");
    return line.words;
  }

  /**
   * The options that all boxes of a forkserver share; the forkserver mounts the rest itself.
   *
   * <p>KERNEL: nothing may cover any part of this /proc, or a process that is not root of the host
   * could mount no other (mount_too_revealing).
   */
  public static List<String> template(int firstFd) {
    var line = new BwrapCommandLine();
    line.add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net");
    // As an implicit parent of mounts it would be accessible only to its maker, not to the box.
    line.add("--as-pid-1", "--clearenv", "--perms", "0755", "--dir", "/etc");
    line.system(Network.NONE);
    line.made(firstFd);
    line.add("--remount-ro", "/dev", "--dir", "/tmp", "--dir", BoxPaths.WORKSPACE);
    line.common();
    line.add("--remount-ro", "/", "--chdir", "/");
    return line.words;
  }

  /** Returns a value that changes when a file of the host that a template shows is replaced. */
  public static List<Object> identities() {
    var found = new ArrayList<Object>(List.of(identity(Path.of(USR))));
    Stream.concat(SYSTEM.stream(), ETC.stream().map("/etc/"::concat))
        .forEach(path -> found.add(identity(Path.of(path))));
    return found;
  }

  private static Object identity(Path path) {
    try {
      return Filesystem.identity(path);
    } catch (KernelException e) {
      return e.errno();
    }
  }

  private void common() {
    add("--dir", "/var", "--symlink", "/tmp", "/var/tmp", "--dir", "/run");
  }

  private void namespaces(SandboxSpec spec) {
    add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts");
    if (spec.hidesCgroups()) {
      add("--unshare-cgroup");
    }
    if (spec.network().isOwn()) {
      add("--unshare-net");
    }
    add("--disable-userns", "--as-pid-1", "--clearenv", "--hostname", "box");
    add("--uid", UID_INSIDE, "--gid", UID_INSIDE);
  }

  private void system(Network network) {
    add("--ro-bind", USR, USR);
    for (String directory : SYSTEM) {
      Path path = Path.of(directory);
      if (Files.isSymbolicLink(path)) {
        add("--symlink", "usr" + directory, directory);
      } else if (Files.isDirectory(path)) {
        add("--ro-bind", directory, directory);
      }
    }
    ETC.forEach(this::etc);
    if (!network.isOwn()) {
      add("--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    }
    add("--proc", "/proc", "--dev", "/dev");
  }

  /** Shows a file of /etc. A link is recreated, which is cheaper than a mount. */
  private void etc(String name) {
    Path path = Path.of("/etc", name);
    if (Files.isSymbolicLink(path)) {
      try {
        add("--symlink", Files.readSymbolicLink(path).toString(), path.toString());
      } catch (IOException e) {
        throw new UncheckedIOException("cannot read link " + path, e);
      }
    } else if (Files.exists(path)) {
      add("--ro-bind", path.toString(), path.toString());
    }
  }

  private void made(int firstFd) {
    for (int i = 0; i < MADE.size(); i++) {
      add("--perms", "0444", "--file", Integer.toString(firstFd + i), MADE.get(i).path());
    }
  }

  private void writable(ByteSize disk, ByteSize temporary) {
    // KERNEL: an unsized tmpfs may take half of the memory. /dev is one too, so it is closed
    // again as soon as /dev/shm lies on it.
    tmpfs(temporary, "1777", "/dev/shm");
    add("--remount-ro", "/dev");
    tmpfs(temporary, "1777", "/tmp");
    add("--perms", "0700", "--dir", "/tmp/home");
    common();
    tmpfs(disk, "0755", BoxPaths.WORKSPACE);
  }

  private void tmpfs(ByteSize size, String mode, String path) {
    add("--size", Long.toString(size.bytes()), "--perms", mode, "--tmpfs", path);
  }

  private void mounts(SandboxSpec spec) {
    int staged = 0;
    for (int i = 0; i < spec.packages().size(); i++) {
      add("--ro-bind", STAGED + staged++, BoxPaths.packages(i));
    }
    for (var mount : spec.mounts()) {
      add(mount.readOnly() ? "--ro-bind" : "--bind", STAGED + staged++, mount.box());
    }
  }

  private void files(SandboxSpec spec, int firstFd) {
    for (int i = 0; i < spec.files().size(); i++) {
      add("--perms", "0644", "--file", Integer.toString(firstFd + i), spec.files().get(i).box());
    }
  }

  private void add(String... more) {
    words.addAll(List.of(more));
  }
}
