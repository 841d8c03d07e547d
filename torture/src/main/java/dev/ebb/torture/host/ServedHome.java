package dev.ebb.torture.host;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.client.EbbClient;
import dev.ebb.client.NoDaemonException;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A daemon on a home of its own, which ends with this process: it holds the other end of its stdin.
 * Whoever wants the client while it is being restarted waits. Thread-safe.
 */
public final class ServedHome implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Pattern PORT = Pattern.compile("http://127\\.0\\.0\\.1:(\\d+)");
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /**
   * Its working directory must not keep ours busy; a configuration of the host is not for it; it is
   * not to sweep away what the oracle is to see.
   */
  private static final String SCRIPT =
      "cd / && socket=$1 files=$2 log=$3 prefix=$4 && shift 4 &&"
          + " { [ \"$files\" = 0 ] || ulimit -n \"$files\"; } &&"
          + " { [ \"$log\" = read ] ||"
          + " dd if=/dev/zero of=/proc/self/fd/3 bs=4096 oflag=nonblock 3>&2 2>/dev/null || :; } &&"
          + " exec $prefix \"$0\" serve --until-eof --config /dev/null --sweep-interval 0 --pool-max 0"
          + " --socket \"$socket\" \"$@\"";

  private final Host host;
  private final OneHome home;
  private final int openFiles;
  private final List<String> flags;
  private final List<String> prefix;
  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private @Nullable Running running;

  @GuardedBy("lock")
  private @Nullable EbbClient client;

  /** Clients of dead daemons, which somebody may still use. */
  @GuardedBy("lock")
  private final List<EbbClient> retired = new ArrayList<>();

  /** The inner processes of keepers whose daemon is dead: they stay as long as its boxes. */
  @GuardedBy("lock")
  private final Set<Integer> oldKeepers = new HashSet<>();

  @GuardedBy("lock")
  private int generation;

  /** One life of the daemon. */
  private record Running(
      Scope scope,
      Fd stdin,
      Pidfd outer,
      int inner,
      Target daemon,
      OptionalInt port,
      boolean isLogBlocked) {
    Set<Integer> pids() {
      return Set.of(outer.pid(), inner, daemon.pid());
    }
  }

  public ServedHome(Host host, OneHome home) {
    this(host, home, 0, List.of());
  }

  /**
   * One that is started by way of another program.
   *
   * @param prefix words without spaces
   */
  public ServedHome(Host host, OneHome home, List<String> prefix) {
    this(host, home, 0, List.of(), prefix);
  }

  /**
   * One that is served in a certain way.
   *
   * @param openFiles how many descriptors it may have; 0: as many as we
   * @param flags for {@code ebb serve}
   */
  public ServedHome(Host host, OneHome home, int openFiles, List<String> flags) {
    this(host, home, openFiles, flags, List.of());
  }

  private ServedHome(
      Host host, OneHome home, int openFiles, List<String> flags, List<String> prefix) {
    this.prefix = List.copyOf(prefix);
    this.host = host;
    this.home = home;
    this.openFiles = openFiles;
    this.flags = List.copyOf(flags);
  }

  // --- its lives ---

  public void start() throws IOException {
    start(false);
  }

  private void start(boolean isLogBlocked) throws IOException {
    lock.lock();
    try {
      var scope = new Scope();
      try {
        running = spawn(scope, isLogBlocked);
        home.learn();
        generation++;
      } catch (KernelException | IOException e) {
        close(scope);
        throw new IOException("the daemon does not come up: " + e.getMessage() + said(), e);
      }
    } finally {
      lock.unlock();
    }
  }

  private static void close(Scope scope) {
    try {
      scope.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }

  @GuardedBy("lock")
  private Running spawn(Scope scope, boolean isLogBlocked) throws KernelException, IOException {
    try (var passing = new Scope()) {
      Fd.Pipe stdin = Fd.pipe(passing, scope);
      Fd log =
          Fd.open(
              passing,
              host.home().resolve("daemon.log"),
              Fd.Flag.WRITE,
              Fd.Flag.CREATE,
              Fd.Flag.APPEND);
      long saidBefore = Files.size(host.home().resolve("daemon.log"));
      var words = new ArrayList<>(List.of("sh", "-c", SCRIPT, host.script().toString()));
      words.addAll(List.of(host.socket().toString(), Integer.toString(openFiles)));
      words.addAll(List.of(isLogBlocked ? "blocked" : "read", String.join(" ", prefix)));
      // The end that is never read lives as long as the daemon.
      Fd errors = isLogBlocked ? Fd.pipe(scope, passing).write() : log;
      words.addAll(flags);
      Pidfd outer =
          Spawn.spawn(
              scope,
              Path.of("/bin/sh"),
              words,
              host.environment(),
              List.of(stdin.read(), log, errors));
      client = connect(outer);
      int pid = Integer.parseInt(Files.readString(host.home().resolve("daemon")).strip());
      ProcessEntry daemon =
          Target.find(ProcessTable.read(), pid)
              .orElseThrow(() -> new IOException("pid " + pid + " is not below us"));
      return new Running(
          scope,
          stdin.write(),
          outer,
          daemon.parent(),
          Target.of(daemon),
          learnPort(saidBefore),
          isLogBlocked);
    }
  }

  private EbbClient connect(Pidfd outer) throws KernelException, IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      try {
        EbbClient connected = EbbClient.connect(host.socket());
        if (connected.isReady()) {
          return connected;
        }
        connected.close();
      } catch (NoDaemonException | SocketException e) {
        if (outer.reap().isPresent() || deadline.isOver()) {
          throw e;
        }
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  /** The last that it said. */
  private String said() throws IOException {
    Path log = host.home().resolve("daemon.log");
    if (!Files.exists(log)) {
      return "";
    }
    List<String> lines =
        new String(Files.readAllBytes(log), StandardCharsets.UTF_8).lines().toList();
    return "\n  " + String.join("\n  ", lines.subList(Math.max(0, lines.size() - 5), lines.size()));
  }

  /**
   * Of the one that was just started; its log tells, which may come later than its answers.
   *
   * @param saidBefore how many bytes of the log are of others
   */
  private OptionalInt learnPort(long saidBefore) throws IOException {
    if (!flags.contains("--listen")) {
      return OptionalInt.empty();
    }
    Deadline deadline = Deadline.in(PATIENCE);
    while (!deadline.isOver()) {
      byte[] said = Files.readAllBytes(host.home().resolve("daemon.log"));
      int from = (int) Math.min(said.length, saidBefore);
      var match = PORT.matcher(new String(said, from, said.length - from, StandardCharsets.UTF_8));
      if (match.find()) {
        return OptionalInt.of(Integer.parseInt(match.group(1)));
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
    throw new IOException("it does not say its port");
  }

  /**
   * Stops it by SIGSTOP for so long. Somebody else lets it go on, so that it does not stay stopped
   * when we are killed.
   */
  public void pause(Duration length) throws IOException {
    Target target = daemon();
    try (var scope = new Scope()) {
      Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
      var words =
          List.of(
              "sh",
              "-c",
              "sleep \"$1\"; kill -CONT \"$2\"",
              "sh",
              length.toMillis() / 1000.0 + "",
              target.pid() + "");
      Pidfd waker =
          Spawn.spawn(
              scope,
              Path.of("/bin/sh"),
              words,
              host.environment(),
              List.of(nothing, nothing, nothing));
      target.signal(Signal.STOP);
      Program.await(waker, length.plus(PATIENCE));
    } catch (KernelException e) {
      throw new IOException(e);
    } finally {
      target.signal(Signal.CONT);
    }
  }

  /** Sends it a signal. */
  public boolean signal(Signal signal) throws IOException {
    return daemon().signal(signal);
  }

  /** Kills it, and starts the next one on the same home. */
  public void restart(Runnable whenKilled) throws IOException {
    restart(whenKilled, false);
  }

  /** The same; nobody reads what the next one logs, and there is no room for it. */
  public void restartWithBlockedLog(Runnable whenKilled) throws IOException {
    restart(whenKilled, true);
  }

  private void restart(Runnable whenKilled, boolean isLogBlocked) throws IOException {
    lock.lock();
    try {
      Running killed = Objects.requireNonNull(running);
      if (killed.daemon().kill()) {
        whenKilled.run();
      }
      Program.await(killed.outer(), PATIENCE);
      home.learn();
      oldKeepers.add(killed.inner());
      // RACE: workers still use it, and are to hear from the connection that the daemon is dead.
      retired.add(Objects.requireNonNull(client));
      close(killed.scope());
      start(isLogBlocked);
    } catch (KernelException e) {
      throw new IOException(e);
    } finally {
      lock.unlock();
    }
  }

  /** Ends it as the death of this process would, and returns its exit code. */
  public int stop() throws IOException {
    lock.lock();
    try {
      Running ending = Objects.requireNonNull(running);
      Objects.requireNonNull(client).close();
      running = null;
      ending.scope().release(ending.stdin());
      int code = Program.await(ending.outer(), PATIENCE);
      close(ending.scope());
      oldKeepers.add(ending.inner());
      reapKeepers();
      return code;
    } catch (KernelException e) {
      throw new IOException(e);
    } finally {
      lock.unlock();
    }
  }

  /** After a failure. */
  @Override
  public void close() throws IOException {
    lock.lock();
    try {
      if (running != null) {
        stop();
      }
    } finally {
      lock.unlock();
    }
  }

  // --- what others need of it ---

  /** The client of the daemon that lives. */
  public EbbClient client() throws IOException {
    lock.lock();
    try {
      if (running == null || client == null) {
        throw new IOException("the daemon has ended");
      }
      return client;
    } finally {
      lock.unlock();
    }
  }

  /** A client that nobody else has. */
  public EbbClient newClient() throws IOException {
    return EbbClient.connect(host.socket());
  }

  /** Its stderr is a pipe that is never read, and not its log. */
  public boolean isLogBlocked() {
    lock.lock();
    try {
      return Objects.requireNonNull(running).isLogBlocked();
    } finally {
      lock.unlock();
    }
  }

  /** The port of the loopback that it was told to listen on. */
  public int port() throws IOException {
    lock.lock();
    try {
      return Objects.requireNonNull(running)
          .port()
          .orElseThrow(() -> new IOException("the daemon listens on no port"));
    } finally {
      lock.unlock();
    }
  }

  /** Closes all connections to it, and uses new ones from now on. */
  public void reconnect() throws IOException {
    lock.lock();
    try {
      client().close();
      client = EbbClient.connect(host.socket());
    } finally {
      lock.unlock();
    }
  }

  /** The same, but with none until {@link #reconnect}. */
  public void disconnect() throws IOException {
    lock.lock();
    try {
      client().close();
      retired.forEach(EbbClient::close);
      retired.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Which life it is in. */
  public int generation() {
    lock.lock();
    try {
      return generation;
    } finally {
      lock.unlock();
    }
  }

  public int pid() {
    return daemon().pid();
  }

  private Target daemon() {
    lock.lock();
    try {
      return Objects.requireNonNull(running).daemon();
    } finally {
      lock.unlock();
    }
  }

  /** Of the daemon itself, and of the two processes around it. */
  public Set<Integer> pids() {
    lock.lock();
    try {
      return running == null ? Set.of() : running.pids();
    } finally {
      lock.unlock();
    }
  }

  /** The keepers of dead daemons fall to us, and are ours to wait for. */
  public void reapKeepers() throws IOException {
    lock.lock();
    try {
      for (int pid : Set.copyOf(oldKeepers)) {
        if (isReaped(pid)) {
          oldKeepers.remove(pid);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private static boolean isReaped(int pid) throws IOException {
    try {
      Optional<Pidfd.WaitStatus> status = Pidfd.reapZombie(pid);
      return status.isPresent();
    } catch (KernelException e) {
      if (e.is(Errno.ECHILD)) {
        return true;
      }
      throw new IOException(e);
    }
  }
}
