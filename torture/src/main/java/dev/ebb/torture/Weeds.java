package dev.ebb.torture;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Mount;
import dev.ebb.torture.host.Program;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** Every violation that the oracle must see, planted for real. */
final class Weeds {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** No box has it: the last of all uids that boxes can have. */
  private static final int BOX_UID = 0x7fff_fff0;

  private final Path home;
  private final Path instance;
  private final Optional<Path> cgroups;
  private final boolean isRoot = Self.uid() == 0;

  /**
   * @param home the one that the oracle looks at
   * @param instance the name of an instance of it
   */
  Weeds(Path home, String instance) throws IOException {
    this.home = home;
    this.instance = home.resolve("instances").resolve(instance);
    cgroups = writableCgroups().map(at -> at.resolve(instance));
  }

  private static Optional<Path> writableCgroups() throws IOException {
    return Mount.readAll().stream()
        .filter(mount -> mount.type().equals("cgroup2"))
        .map(Mount::point)
        .filter(point -> Files.isWritable(point.resolve("cgroup.procs")))
        .findFirst();
  }

  List<Weed> all() {
    boolean hasCgroups = cgroups.isPresent();
    return List.of(
        Weed.of(Invariant.I1, "a process in the cgroup of a box", this::member)
            .needing(hasCgroups, "writable cgroups"),
        Weed.of(Invariant.I2, "a zombie", this::zombie),
        Weed.of(Invariant.I3, "a process", this::process),
        Weed.of(Invariant.I4, "a cgroup", this::cgroup).needing(hasCgroups, "writable cgroups"),
        Weed.of(Invariant.I5, "a mount", this::mount).needing(isRoot, "root"),
        Weed.of(Invariant.I6, "a file", () -> file(home.resolve("left"))),
        Weed.of(Invariant.I6, "a socket without a file", this::socket),
        Weed.of(Invariant.I7, "a descriptor", this::descriptor),
        Weed.of(Invariant.I7, "a thread", this::thread),
        Weed.of(Invariant.I8, "a ledger line", this::ledgerLine),
        Weed.of(Invariant.I9, "a port", this::port),
        Weed.of(Invariant.I10, "an unlisted file", () -> file(home.resolve("lib/left"))),
        Weed.of(Invariant.I11, "shared memory", this::sharedMemory).needing(isRoot, "root"));
  }

  private static Pidfd sleeper(Scope scope) throws KernelException {
    Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
    return Spawn.spawn(
        scope, Path.of("/bin/sleep"), List.of("sleep", "60"), List.of(nothing, nothing, nothing));
  }

  private static void end(Pidfd child) throws KernelException {
    child.signal(Signal.KILL);
    Program.await(child, PATIENCE);
  }

  private Weed.Pulling process() throws KernelException {
    var scope = new Scope();
    Pidfd child = sleeper(scope);
    return () -> {
      end(child);
      scope.close();
    };
  }

  private Weed.Pulling zombie() throws KernelException {
    var scope = new Scope();
    Pidfd child = sleeper(scope);
    child.signal(Signal.KILL);
    return () -> {
      end(child);
      scope.close();
    };
  }

  private Weed.Pulling cgroup() throws KernelException {
    Path top = cgroups.orElseThrow();
    Filesystem.mkdir(top, 0755);
    return () -> Filesystem.rmdir(top);
  }

  private Weed.Pulling member() throws KernelException, IOException {
    Path top = cgroups.orElseThrow();
    Filesystem.mkdir(top, 0755);
    var scope = new Scope();
    Pidfd child = sleeper(scope);
    Files.writeString(top.resolve("cgroup.procs"), Integer.toString(child.pid()));
    return () -> {
      end(child);
      scope.close();
      Filesystem.rmdir(top);
    };
  }

  private Weed.Pulling mount() throws IOException, KernelException {
    Path point = home.resolve("mounted");
    Filesystem.mkdir(point, 0700);
    run("mount", "-t", "tmpfs", "ebb-torture", point.toString());
    return () -> {
      run("umount", point.toString());
      Filesystem.rmdir(point);
    };
  }

  private static void run(String... words) throws IOException {
    var all = new ArrayList<>(List.of("env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"));
    all.addAll(List.of(words));
    Program.Outcome outcome = Program.run(Path.of("/usr/bin/env"), all, List.of());
    if (outcome.code() != 0) {
      throw new IOException(String.join(" ", words) + ": " + outcome.text().strip());
    }
  }

  private static Weed.Pulling file(Path path) throws IOException {
    Files.writeString(path, "left");
    return () -> Files.delete(path);
  }

  private Weed.Pulling socket() throws IOException {
    Path path = home.resolve("left.sock");
    var socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    socket.bind(UnixDomainSocketAddress.of(path));
    Files.delete(path);
    return socket::close;
  }

  private Weed.Pulling descriptor() throws KernelException {
    var scope = new Scope();
    Fd.event(scope);
    return scope::close;
  }

  private Weed.Pulling thread() throws InterruptedException {
    var started = new CountDownLatch(1);
    var over = new CountDownLatch(1);
    Thread thread =
        Thread.ofPlatform()
            .name("ebb-left")
            .start(
                () -> {
                  started.countDown();
                  awaitQuietly(over);
                });
    started.await();
    return () -> {
      over.countDown();
      thread.join();
    };
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** In a ledger that is there before, so that nothing else is new. */
  private Weed.Pulling ledgerLine() throws IOException {
    Path ledger = instance.resolve("ledger");
    Files.writeString(ledger, "00000000 + 1 b000000000000 CGROUP %2Fnowhere\n");
    return () -> Files.writeString(ledger, "");
  }

  private Weed.Pulling port() throws IOException {
    var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    return socket::close;
  }

  private Weed.Pulling sharedMemory() throws IOException, KernelException {
    Path file = Files.createTempFile(Path.of("/dev/shm"), "ebb", "");
    Filesystem.chown(file, BOX_UID, BOX_UID);
    return () -> Files.delete(file);
  }
}
