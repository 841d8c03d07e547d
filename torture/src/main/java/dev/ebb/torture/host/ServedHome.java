package dev.ebb.torture.host;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.client.EbbClient;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.oracle.OneHome;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A daemon on a home of its own, which ends with this process: it holds the other end of its stdin.
 * A caller that wants the client waits while the daemon is being restarted. Thread-safe.
 */
public final class ServedHome implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Host host;
  private final OneHome home;
  private final DaemonLauncher launcher;
  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private @Nullable DaemonLife running;

  @GuardedBy("lock")
  private @Nullable EbbClient client;

  /** Clients of dead daemons, which may still be in use. */
  @GuardedBy("lock")
  private final List<EbbClient> retired = new ArrayList<>();

  /** Inner supervisors of dead daemons: they stay as long as the boxes. */
  @GuardedBy("lock")
  private final Set<Integer> oldSupervisors = new HashSet<>();

  @GuardedBy("lock")
  private int generation;

  public ServedHome(Host host, OneHome home) {
    this(host, home, 0, List.of());
  }

  /**
   * Makes a home with a daemon that another program starts.
   *
   * @param prefix arguments without spaces
   */
  public ServedHome(Host host, OneHome home, List<String> prefix) {
    this(host, home, 0, List.of(), prefix);
  }

  /**
   * Makes a home with special settings.
   *
   * @param openFiles the most descriptors the daemon may have; 0: as many as we
   * @param flags for {@code ebb serve}
   */
  public ServedHome(Host host, OneHome home, int openFiles, List<String> flags) {
    this(host, home, openFiles, flags, List.of());
  }

  private ServedHome(
      Host host, OneHome home, int openFiles, List<String> flags, List<String> prefix) {
    this.host = host;
    this.home = home;
    launcher = new DaemonLauncher(host, openFiles, flags, prefix);
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
        DaemonLife started = launcher.launch(scope, isLogBlocked);
        running = started;
        client = started.client();
        home.learn();
        generation++;
      } catch (KernelException | IOException e) {
        close(scope);
        throw new IOException(
            "the daemon does not start: " + e.getMessage() + launcher.lastLines(), e);
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

  /**
   * Stops it by SIGSTOP for so long. Another process resumes it, so that it does not stay stopped
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

  /** Kills it, and starts a daemon with a full pipe as its log, which is never read. */
  public void restartWithBlockedLog(Runnable whenKilled) throws IOException {
    restart(whenKilled, true);
  }

  private void restart(Runnable whenKilled, boolean isLogBlocked) throws IOException {
    lock.lock();
    try {
      DaemonLife killed = Objects.requireNonNull(running);
      if (killed.daemon().kill()) {
        whenKilled.run();
      }
      Program.await(killed.outer(), PATIENCE);
      home.learn();
      oldSupervisors.add(killed.inner());
      // RACE: workers still use it, and must learn from the connection that the daemon is dead.
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
      DaemonLife ending = Objects.requireNonNull(running);
      Objects.requireNonNull(client).close();
      running = null;
      ending.scope().release(ending.stdin());
      int code = Program.await(ending.outer(), PATIENCE);
      close(ending.scope());
      oldSupervisors.add(ending.inner());
      reapSupervisors();
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

  /** A client of its own, which is not shared. */
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

  /** Returns what its log reports of faults of its own, in all its lives. */
  public List<String> alarms() throws IOException {
    return launcher.alarms();
  }

  /** Returns the port of the loopback on which it listens. */
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

  /** Closes all connections to it; there are none until {@link #reconnect}. */
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

  /** The pids of the daemon and of its two supervisors. */
  public Set<Integer> pids() {
    lock.lock();
    try {
      return running == null ? Set.of() : running.pids();
    } finally {
      lock.unlock();
    }
  }

  /** The supervisors of dead daemons fall to us, and are ours to wait for. */
  public void reapSupervisors() throws IOException {
    lock.lock();
    try {
      for (int pid : Set.copyOf(oldSupervisors)) {
        if (isReaped(pid)) {
          oldSupervisors.remove(pid);
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
