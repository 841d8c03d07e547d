package dev.ebb.testkit;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Processes for a test to kill; closing ends and reaps what is left of them. */
public final class Children implements AutoCloseable {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(10));
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final Scope scope = new Scope();
  private final Map<Integer, Pidfd> living = new LinkedHashMap<>();
  private final Map<Integer, Fd> leashes = new HashMap<>();

  public Children() {}

  /** A process that does nothing until it is killed, or until we are gone. */
  public int sleeper() throws KernelException {
    return spawn(Path.of("/bin/cat"), "cat");
  }

  /** Starts a process with a pipe as stdin, which closes when this process ends. */
  public int spawn(Path program, String... words) throws KernelException {
    try (var passing = new Scope()) {
      Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
      return spawn(passing, program, List.of(words), nothing);
    }
  }

  /** Starts a process; returns when {@code program} has written its first byte to stdout. */
  public int python(String program) throws KernelException {
    try (var passing = new Scope()) {
      Fd.Pipe ready = Fd.pipe(passing, passing);
      int pid =
          spawn(
              passing,
              Path.of("/usr/bin/python3"),
              List.of("python3", "-c", program),
              ready.write());
      passing.release(ready.write());
      if (ready.read().read(new byte[1], 0, 1) != 1) {
        throw new AssertionError("python did not start");
      }
      return pid;
    }
  }

  private int spawn(Scope passing, Path program, List<String> words, Fd stdout)
      throws KernelException {
    Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
    Fd.Pipe leash = Fd.pipe(passing, scope);
    Pidfd child = Spawn.spawn(scope, program, words, List.of(leash.read(), stdout, nothing));
    living.put(child.pid(), child);
    leashes.put(child.pid(), leash.write());
    return child.pid();
  }

  /** Sends one byte to its stdin. */
  public void nudge(int pid) throws KernelException {
    Objects.requireNonNull(leashes.get(pid)).write("!");
  }

  public Pidfd pidfd(int pid) {
    return Objects.requireNonNull(living.get(pid), () -> pid + " is no child");
  }

  /** Kills it and waits until it is a zombie, which stays until it is reaped. */
  public int kill(int pid) throws KernelException {
    pidfd(pid).signal(Signal.KILL);
    await(() -> isZombie(pid) ? Optional.of(pid) : Optional.empty(), "pid " + pid + " lives");
    return pid;
  }

  /** Runs {@code action} on a thread of its own as soon as the process is dead. */
  public void whenDead(int pid, Action action) throws KernelException {
    Poller.start(scope, "children")
        .watch(
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

  /** Work that may fail. */
  @FunctionalInterface
  public interface Action {
    void run() throws Exception;
  }

  /** Waits for its death, reaps it, and returns the signal that killed it, or 0. */
  public int awaitSignal(int pid) throws KernelException {
    Pidfd.WaitStatus status = awaitExit(pidfd(pid));
    living.remove(pid);
    return status.isExit() ? 0 : status.status();
  }

  /** Waits for its death and reaps it. */
  public static Pidfd.WaitStatus awaitExit(Pidfd child) throws KernelException {
    return await(child::reap, "pid " + child.pid() + " lives");
  }

  private interface Look<T> {
    Optional<T> look() throws KernelException;
  }

  private static <T> T await(Look<T> look, String otherwise) throws KernelException {
    Deadline deadline = Deadline.in(PATIENCE);
    Optional<T> seen = look.look();
    while (seen.isEmpty()) {
      if (deadline.isOver()) {
        throw new AssertionError(otherwise);
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      seen = look.look();
    }
    return seen.get();
  }

  public static boolean isZombie(int pid) throws KernelException {
    return status(pid, "State").startsWith("Z");
  }

  public static String status(int pid, String field) throws KernelException {
    return status(Integer.toString(pid), field);
  }

  /** One line of /proc/PID/status; {@code process} may also be {@code thread-self}. */
  public static String status(String process, String field) throws KernelException {
    return Filesystem.read(Path.of("/proc", process, "status"))
        .lines()
        .filter(line -> line.startsWith(field + ":"))
        .map(line -> line.substring(field.length() + 1).strip())
        .findFirst()
        .orElseThrow();
  }

  @Override
  public void close() throws KernelException {
    for (Pidfd child : new ArrayList<>(living.values())) {
      child.signal(Signal.KILL);
      try {
        var _ = awaitExit(child);
      } catch (KernelException e) {
        // The code under test has reaped it.
        if (!e.is(Errno.ECHILD)) {
          throw e;
        }
      }
    }
    living.clear();
    scope.close();
  }
}
