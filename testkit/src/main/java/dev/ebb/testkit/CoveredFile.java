package dev.ebb.testkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A file of the host with another one mounted over it, so that opening it fails: a control file of
 * a cgroup, say.
 *
 * <p>KERNEL: a cgroup can be removed under such a mount, which then has no path any more. So a
 * helper holds a descriptor of it and unmounts by that, also when this process is killed.
 */
public final class CoveredFile implements AutoCloseable {
  private static final String HELPER =
      """
      import ctypes, errno, os, sys
      libc = ctypes.CDLL(None, use_errno=True)
      path, how = sys.argv[1:3]
      MS_RDONLY, MS_BIND, MS_REMOUNT, MNT_DETACH = 1, 4096, 32, 2
      def mount(source, target, flags):
          if libc.mount(source.encode(), target.encode(), None, flags, None) != 0:
              raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)
      mount(f"/proc/{os.getpid()}/mem" if how == "unreadable" else path, path, MS_BIND)
      fd = os.open(path, os.O_PATH)
      if how == "unwritable":
          mount(path, path, MS_BIND | MS_REMOUNT | MS_RDONLY)
      print("covered", flush=True)
      sys.stdin.read()
      # EINVAL: the kernel has unmounted it, as it does when a removed file is looked up again.
      if libc.umount2(f"/proc/self/fd/{fd}".encode(), MNT_DETACH) != 0:
          if ctypes.get_errno() != errno.EINVAL:
              sys.exit(os.strerror(ctypes.get_errno()))
      """;

  private final Process helper;

  private CoveredFile(Path path, String how) throws IOException {
    helper =
        new ProcessBuilder("/usr/bin/python3", "-c", HELPER, path.toString(), how)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    var lines =
        new BufferedReader(new InputStreamReader(helper.getInputStream(), StandardCharsets.UTF_8));
    if (!Objects.equals(lines.readLine(), "covered")) {
      throw new IOException("cannot cover " + path);
    }
  }

  /** Reading it fails with EIO: it is the memory of a process, at an address where nothing is. */
  public static CoveredFile unreadable(Path path) throws IOException {
    return new CoveredFile(path, "unreadable");
  }

  /** Opening it for writing fails with EROFS. */
  public static CoveredFile unwritable(Path path) throws IOException {
    return new CoveredFile(path, "unwritable");
  }

  @Override
  public void close() throws IOException {
    helper.getOutputStream().close();
    try {
      if (helper.waitFor() != 0) {
        throw new IOException("cannot uncover");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
