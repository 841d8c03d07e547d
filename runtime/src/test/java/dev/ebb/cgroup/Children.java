package dev.ebb.cgroup;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.awaitility.Awaitility;

/** Processes for a test to kill; closing ends and reaps what is left of them. */
final class Children implements AutoCloseable {
  /**
   * Sixteen lines of descent, each of which is a new process all the time: whoever kills by number
   * comes too late. Orphans stay below the first one, which reaps them without looking.
   */
  private static final String STORM =
      """
      import ctypes, os, signal, sys
      signal.signal(signal.SIGCHLD, signal.SIG_IGN)
      ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
      for _ in range(16):
          if os.fork() == 0:
              while True:
                  if os.fork() != 0:
                      os._exit(0)
      os.write(1, b"!")
      signal.pause()
      """;

  private final Scope scope = new Scope();
  private final Map<Integer, Pidfd> living = new HashMap<>();

  /** A process that does nothing for long. */
  int sleeper() throws KernelException {
    return spawn("/bin/sleep", "1000");
  }

  /** A process of two threads; they are asleep when this returns. */
  int threads() throws KernelException {
    return python(
        """
        import threading, os, signal
        threading.Thread(target=signal.pause, daemon=True).start()
        os.write(1, b'!')
        signal.pause()
        """);
  }

  int storm() throws KernelException {
    return python(STORM);
  }

  /** Returns when it has written a byte. */
  private int python(String program) throws KernelException {
    try (var passing = new Scope()) {
      Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
      Fd.Pipe ready = Fd.pipe(passing, passing);
      Pidfd child =
          Spawn.spawn(
              scope,
              Path.of("/usr/bin/python3"),
              List.of("python3", "-c", program),
              List.of(nothing, ready.write(), nothing));
      living.put(child.pid(), child);
      passing.release(ready.write());
      if (ready.read().read(new byte[1], 0, 1) != 1) {
        throw new AssertionError("python did not start");
      }
      return child.pid();
    }
  }

  private int spawn(String program, String... arguments) throws KernelException {
    try (var passing = new Scope()) {
      Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
      var words = new java.util.ArrayList<>(List.of(program));
      words.addAll(List.of(arguments));
      Pidfd child = Spawn.spawn(scope, Path.of(program), words, List.of(nothing, nothing, nothing));
      living.put(child.pid(), child);
      return child.pid();
    }
  }

  interface Action {
    void run() throws Exception;
  }

  /** Runs {@code action} on a thread of its own as soon as the process is dead. */
  void whenDead(int pid, Action action) throws KernelException {
    Poller poller = Poller.start(scope, "test-children");
    poller.watch(
        scope,
        pidfd(pid).fd(),
        Poller.Interest.READ,
        () -> {
          try {
            action.run();
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private Pidfd pidfd(int pid) {
    return Objects.requireNonNull(living.get(pid));
  }

  boolean isAlive(int pid) throws KernelException {
    return !Filesystem.read(Path.of("/proc/" + pid + "/stat")).contains(") Z ");
  }

  /** Waits for its death, reaps it, and returns the signal that killed it, or 0. */
  int awaitSignal(int pid) {
    Pidfd.WaitStatus status =
        Awaitility.await()
            .pollDelay(Duration.ZERO)
            .pollInterval(Duration.ofMillis(1))
            .until(() -> pidfd(pid).reap(), Optional::isPresent)
            .orElseThrow();
    living.remove(pid);
    return status.isExit() ? 0 : status.status();
  }

  static void move(int pid, Path cgroup) throws Exception {
    Files.writeString(cgroup.resolve("cgroup.procs"), Integer.toString(pid));
  }

  @Override
  public void close() throws KernelException {
    for (int pid : List.copyOf(living.keySet())) {
      pidfd(pid).signal(Signal.KILL);
      var _ = awaitSignal(pid);
    }
    scope.close();
  }
}
