package dev.ebb.backend;

import dev.ebb.init.BoxContents;
import dev.ebb.init.CallOff;
import dev.ebb.init.ExecEvents;
import dev.ebb.init.Inventory;
import dev.ebb.init.StartRequest;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Signal;
import dev.ebb.model.ExecKind;
import dev.ebb.model.FirstFile;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A box that is being made or lives: what its pid 1 can be asked. Thread-safe.
 *
 * <p>A question about a command that has ended already is no error.
 */
public interface Sandbox {
  /** Its pid 1, on the host; empty until its maker has announced it. */
  Optional<Pidfd> init();

  /** Runs {@code listener} once pid 1 is gone, at once if it is already. */
  void whenClosed(Runnable listener);

  // --- commands ---

  /**
   * Starts a command; what becomes of it is told to {@code events}.
   *
   * @param fds logs, those of its leaf, stdin
   * @param isPiped the last descriptor is its stdout, and it has no stdin
   */
  void start(int exec, StartRequest request, List<Fd> fds, boolean isPiped, ExecEvents events)
      throws KernelException;

  /** Tells {@code events} of a command that runs already. */
  void expect(int exec, ExecEvents events);

  /** Begins the limits of a command that has waited anew. */
  void rearm(int exec, StartRequest request) throws KernelException;

  /** Starts the kill ladder of a command. */
  void kill(int exec, Signal signal, Duration grace) throws KernelException;

  /** Sends a signal, but SIGKILL, to all of a command. */
  void signal(int exec, Signal signal) throws KernelException;

  /** Changes the size of a command's terminal. */
  void resize(int exec, ExecKind.Terminal size) throws KernelException;

  /** Ends the segment that a command writes. */
  void split(int exec) throws KernelException;

  /** The answer to {@link ExecEvents#needLog}: what it wrote, and will write, goes there. */
  void giveLogs(int exec, Fd stdout, Fd stderr) throws KernelException;

  /** The other answer: what it writes from now on is lost. */
  void refuseLogs(int exec, int errno) throws KernelException;

  // --- what is in it ---

  /** What is in it; empty when there was no answer in time. */
  Optional<BoxContents> inventory(Deadline deadline) throws KernelException, InterruptedException;

  /** Takes the inventory, then writes a file; the second request does not wait for an answer. */
  Optional<Inventory> inventoryThenWrite(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException;

  /**
   * Makes a file that is new in the workspace, without a process.
   *
   * @return its entry, see init/protocol.h; empty: it cannot be made so
   */
  Optional<byte[]> writeFile(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException;

  /**
   * Lists the workspace, without a process.
   *
   * @return all entries, see init/protocol.h; empty: they are too many, or there was no answer
   */
  Optional<byte[]> list(Deadline deadline) throws KernelException, InterruptedException;

  // --- its way out ---

  /**
   * A socket that listens on the loopback of the box.
   *
   * @throws KernelException EADDRINUSE when a command has taken the port
   */
  Fd listen(int port, Deadline deadline) throws KernelException, InterruptedException;

  // --- the engine after this one ---

  /** What proves to the next engine that it is this box. */
  byte[] nonce();

  /**
   * Lets the box outlive this engine: it waits in {@code directory} for the next.
   *
   * @param deadline when pid 1 ends the box by itself; zero: never
   */
  void detach(Fd directory, Duration deadline) throws KernelException;

  /**
   * Hears what became of each expected command since the engine before.
   *
   * @return false when the box died, it was called off, or the deadline came first
   */
  boolean greet(Deadline deadline, CallOff callOff) throws KernelException, InterruptedException;

  /** The highest number of a command that pid 1 knew of when it was greeted. */
  int highestKnown();

  /** The end of a command of a detached box is written down. */
  void forget(int exec) throws KernelException;

  /** Lets go of a detached box, which goes on: its commands are not lost. */
  void leave();
}
