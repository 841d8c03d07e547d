package dev.ebb.torture.host;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Spawn;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A file system of a few MiB for the home of a daemon. It is mounted in a mount namespace of its
 * own, which a process holds whose stdin we have: when we end, for any reason, it is unmounted when
 * that process and the daemon have ended.
 */
public final class SmallDisk implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Path UNSHARE = Path.of("/usr/bin/unshare");
  private static final Path NSENTER = Path.of("/usr/bin/nsenter");
  private static final String HOLD =
      "mount -t tmpfs -o size=16m,mode=700 ebb-torture \"$1\" && echo up && exec cat >/dev/null";

  private final Scope scope;
  private final Fd stdin;
  private final Pidfd holder;
  private final Path point;
  private final Host host;

  private SmallDisk(Scope scope, Fd stdin, Pidfd holder, Path point, Host host) {
    this.scope = scope;
    this.stdin = stdin;
    this.holder = holder;
    this.point = point;
    this.host = host;
  }

  public static boolean isPossible() {
    return Files.isExecutable(UNSHARE) && Files.isExecutable(NSENTER);
  }

  /** Below the home of {@code host}. */
  public static SmallDisk mount(Host host) throws IOException {
    Path point = host.home().resolve("disk");
    Files.createDirectories(point);
    var scope = new Scope();
    try (var passing = new Scope()) {
      Fd.Pipe in = Fd.pipe(passing, scope);
      Fd.Pipe out = Fd.pipe(passing, passing);
      Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.WRITE);
      var words =
          List.of(
              "unshare", "--mount", "--propagation", "private", "sh", "-c", HOLD, "sh", point + "");
      Pidfd holder =
          Spawn.spawn(
              scope,
              UNSHARE,
              words,
              environment(host, point),
              List.of(in.read(), out.write(), nothing));
      passing.release(out.write());
      byte[] up = new byte[1];
      if (out.read().read(up, 0, 1) != 1) {
        Program.await(holder, PATIENCE);
        throw new IOException("cannot mount a small file system on " + point);
      }
      Path view = Path.of("/proc/" + holder.pid() + "/root" + point);
      var seen = new Host(host.script(), view, environment(host, point), host.description());
      return new SmallDisk(scope, in.write(), holder, point, seen);
    } catch (KernelException | IOException e) {
      close(scope);
      Files.deleteIfExists(point);
      throw new IOException("no small disk: " + e.getMessage(), e);
    }
  }

  private static List<String> environment(Host host, Path home) {
    var changed = new ArrayList<>(host.environment());
    changed.replaceAll(each -> each.startsWith("EBB_HOME=") ? "EBB_HOME=" + home : each);
    return changed;
  }

  private static void close(Scope scope) throws IOException {
    try {
      scope.close();
    } catch (KernelException e) {
      throw new IOException(e);
    }
  }

  /** With a home that is on it, by a path that leads there from outside. */
  public Host host() {
    return host;
  }

  /** Returns the command prefix with which a daemon sees its home on this disk. */
  public List<String> prefix() {
    return List.of(NSENTER.toString(), "--mount=/proc/" + holder.pid() + "/ns/mnt", "--wd=/");
  }

  @Override
  public void close() throws IOException {
    try {
      scope.release(stdin);
      Program.await(holder, PATIENCE);
    } catch (KernelException e) {
      throw new IOException(e);
    } finally {
      close(scope);
      Files.delete(point);
    }
  }
}
