package dev.ebb.testkit;

import static dev.ebb.testkit.Plant.assertSeen;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.oracle.LivingNeighbours;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.oracle.Processes;
import dev.ebb.oracle.Trace;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Each detector sees a real leak of its kind, and sees it go. */
class LeakCheckTest {
  @RegisterExtension final TestHost host = TestHost.needing();

  @Test
  void aLivingChildIsSeen() throws Exception {
    var seen =
        assertSeen(
            () -> {
              var scope = new Scope();
              Pidfd child = sleeper(scope);
              return () -> {
                child.signal(Signal.KILL);
                reap(child);
                scope.close();
              };
            },
            "process",
            "pidfd descriptor");
    assertThat(seen.getFirst().details()).contains("(sleep)", "state S", "sleep 60");
  }

  @Test
  void aDeadChildThatWasNotReapedIsSeen() throws Exception {
    assertSeen(
        () -> {
          int pid = zombie();
          return () -> assertThat(Pidfd.reapZombie(pid)).isPresent();
        },
        "zombie");
  }

  @Test
  void anOrphanThatFellToUsIsSeenUntilReaped() throws Exception {
    assertSeen(
        () -> {
          shell("sleep 0.01 >/dev/null 2>&1 & exit 0");
          awaitZombie();
          return () -> assertThat(TestHost.reapOrphans()).isEqualTo(1);
        },
        "zombie");
  }

  @Test
  void anEventfdIsSeen() throws Exception {
    assertDescriptorSeen(Fd::event, "eventfd descriptor");
  }

  @Test
  void aPipeIsSeen() throws Exception {
    assertDescriptorSeen(scope -> Fd.pipe(scope, scope), "pipe descriptor", "pipe descriptor");
  }

  @Test
  void oneEndOfAPipeIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> {
          try (var brief = new Scope()) {
            Fd.pipe(scope, brief);
          }
        },
        "pipe descriptor");
  }

  @Test
  void aSocketIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> UnixSocket.pair(scope, scope), "socket descriptor", "socket descriptor");
  }

  @Test
  void aPidfdIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> Pidfd.open(scope, (int) ProcessHandle.current().pid()), "pidfd descriptor");
  }

  @Test
  void anOpenFileIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> Fd.open(scope, Path.of("/etc/passwd"), Fd.Flag.READ), "file descriptor");
  }

  @Test
  void anOpenDirectoryIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> Fd.open(scope, Path.of("/"), Fd.Flag.PATH), "directory descriptor");
  }

  @Test
  void anOpenFileWithoutANameIsSeen() throws Exception {
    Path file = host.home().resolve("removed");
    assertDescriptorSeen(
        scope -> {
          Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.CREATE);
          Filesystem.unlink(file);
        },
        "deleted file descriptor");
    assertDescriptorSeen(scope -> Fd.memory(scope, "memory"), "memfd descriptor");
  }

  @Test
  void anOpenFileKnownBeforeStaysKnownWhenItIsRemoved() throws Exception {
    Path file = Files.createFile(host.home().resolve("lock"));
    try (var scope = new Scope()) {
      Fd.open(scope, file, Fd.Flag.READ);
      Snapshot before = Snapshot.take();
      Files.delete(file);
      before.assertNoLeaks();
    }
  }

  @Test
  void aChildKnownAliveIsSeenWhenItIsAZombie() throws Exception {
    try (var scope = new Scope()) {
      Pidfd child = sleeper(scope);
      assertSeen(
          () -> {
            child.signal(Signal.KILL);
            awaitZombie();
            return () -> reap(child);
          },
          "zombie");
    }
  }

  @Test
  void anOpenNamespaceIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> Fd.open(scope, Path.of("/proc/self/ns/net"), Fd.Flag.READ),
        "namespace descriptor");
  }

  @Test
  void anOpenDeviceIsSeen() throws Exception {
    assertDescriptorSeen(
        scope -> Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ), "device descriptor");
  }

  @Test
  void aPollerIsSeenWithAllItHolds() throws Exception {
    assertDescriptorSeen(
        scope -> Poller.start(scope, "ebb-leaked"),
        "eventpoll descriptor",
        "eventfd descriptor",
        "thread");
  }

  @Test
  void aWatchOfTheFileSystemIsSeen() throws Exception {
    Snapshot before = Snapshot.take();
    try (var watch = FileSystems.getDefault().newWatchService()) {
      assertThat(watch.poll()).isNull();
      assertThat(before.leaksSince())
          .extracting(Trace::kind)
          .contains("inotify descriptor", "thread");
    }
    before.assertNoLeaks();
  }

  @Test
  void aThreadIsSeenByName() throws Exception {
    var seen = assertSeen(() -> parked(Thread.ofPlatform().name("ebb-forgotten")), "thread");
    assertThat(seen.getFirst().details()).endsWith("ebb-forgotten");
  }

  @Test
  void aVirtualThreadIsSeenByName() throws Exception {
    var seen = assertSeen(() -> parked(Thread.ofVirtual().name("exec-7")), "virtual thread");
    assertThat(seen.getFirst().details()).contains("\"exec-7\"");
  }

  @Test
  void whatLiesInAHomeIsSeenButForWhatBelongsThere() throws Exception {
    Path home = host.home();
    Path instance = home.resolve("instances/ebb-1");
    assertSeen(
        () -> {
          Files.createDirectories(home.resolve("lib"));
          Files.createFile(home.resolve("lib/ebb-init"));
          Files.createFile(home.resolve("lock"));
          Files.createDirectories(instance);
          Files.createFile(instance.resolve("instance"));
          return () -> {
            Files.delete(instance.resolve("instance"));
            Files.delete(instance);
          };
        },
        "directory",
        "file");
  }

  @Test
  void aLedgerLineThatIsNotStruckOutIsSeen() throws Exception {
    Path ledger = Files.createDirectories(host.home().resolve("instances/ebb-1")).resolve("ledger");
    String held = "01234567 + 1 box CGROUP %2Fa\n01234567 + 2 box CGROUP %2Fb\n01234567 - 1\n";
    Files.createFile(ledger);
    var seen =
        assertSeen(
            () -> {
              Files.writeString(ledger, held);
              return () -> Files.writeString(ledger, held + "01234567 - 2\n");
            },
            "ledger line");
    assertThat(seen.getFirst().details()).contains(ledger.toString(), "+ 2 box CGROUP %2Fb");
  }

  @Test
  void aListeningUnixSocketIsSeenThoughItsFileIsGone() throws Exception {
    Path path = host.home().resolve("box.sock");
    assertSeen(
        () -> {
          var socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
          socket.bind(UnixDomainSocketAddress.of(path));
          Files.delete(path);
          return socket::close;
        },
        "unix socket",
        "socket descriptor");
  }

  @Test
  void aFileInSharedMemoryIsSeen() throws Exception {
    assertSeen(
        () -> {
          Path file = Files.createTempFile(Path.of("/dev/shm"), "ebb", "");
          return () -> Files.delete(file);
        },
        "shared memory file");
  }

  @Test
  void sysVObjectsAreSeen() throws Exception {
    assertSeen(() -> sysV("-M", "4096", "-m"), "SysV shm");
    assertSeen(() -> sysV("-S", "1", "-s"), "SysV sem");
    assertSeen(() -> sysV("-Q", "", "-q"), "SysV msg");
  }

  @Test
  void theMessageHasALineForEachLeak() throws Exception {
    Snapshot before = Snapshot.take();
    try (var scope = new Scope()) {
      Fd.event(scope);
      assertThatThrownBy(() -> Snapshot.failOn(before.leaksSince()))
          .isInstanceOf(AssertionError.class)
          .message()
          .startsWith("leaked")
          .containsPattern("  eventfd descriptor: fd \\d+ anon_inode:\\[eventfd]");
    }
  }

  private static void assertDescriptorSeen(Acquiring acquiring, String... kinds) throws Exception {
    assertSeen(
        () -> {
          var scope = new Scope();
          acquiring.into(scope);
          return scope::close;
        },
        kinds);
  }

  @FunctionalInterface
  private interface Acquiring {
    void into(Scope scope) throws KernelException;
  }

  private static Pidfd sleeper(Scope scope) throws KernelException {
    Pidfd child = Spawn.spawn(scope, Path.of("/bin/sleep"), List.of("sleep", "60"), List.of());
    // Spawned is not yet executed, nor asleep.
    Path stat = Path.of("/proc/" + child.pid() + "/stat");
    await().until(() -> Files.readString(stat).contains("(sleep) S "));
    return child;
  }

  private static int zombie() throws KernelException {
    try (var scope = new Scope()) {
      Pidfd child = Spawn.spawn(scope, Path.of("/bin/true"), List.of("true"), List.of());
      awaitZombie();
      return child.pid();
    }
  }

  private static void awaitZombie() {
    await()
        .until(
            () ->
                new Processes(new LivingNeighbours())
                    .look(ProcessTable.read()).stream()
                        .anyMatch(trace -> trace.kind().equals("zombie")));
  }

  private static void reap(Pidfd child) {
    await().until(() -> child.reap().isPresent());
  }

  private static Plant.Weed parked(Thread.Builder builder) {
    var end = new CountDownLatch(1);
    var started = new CountDownLatch(1);
    Thread thread =
        builder.start(
            () -> {
              started.countDown();
              awaitUninterruptibly(end);
            });
    awaitUninterruptibly(started);
    return () -> {
      end.countDown();
      thread.join();
    };
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Makes an object with ipcmk, and removes it with ipcrm. */
  private static Plant.Weed sysV(String make, String size, String remove) throws Exception {
    String said = shell("ipcmk " + make + " " + size);
    String id = said.substring(said.indexOf(':') + 1).strip();
    return () -> shell("ipcrm " + remove + " " + id);
  }

  private static String shell(String command) throws Exception {
    var process = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    try (var output = process.inputReader()) {
      String said = output.readAllAsString();
      assertThat(process.waitFor()).as(said).isZero();
      return said;
    }
  }
}
