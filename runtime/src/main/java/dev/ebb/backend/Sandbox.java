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
 * A box that is being made or lives: the requests to its pid 1. Thread-safe.
 *
 * <p>A request about a command that has ended already is no error.
 */
public interface Sandbox {
  /** Returns its pid 1 on the host; empty until its maker has announced it. */
  Optional<Pidfd> init();

  /** Runs {@code listener} once pid 1 is gone; at once if it is gone already. */
  void whenClosed(Runnable listener);

  // --- commands ---

  /**
   * Starts a command, and reports its progress and end to {@code events}.
   *
   * @param fds logs, those of its leaf, stdin
   * @param isPiped the last descriptor is its stdout, and it has no stdin
   */
  void start(int exec, StartRequest request, List<Fd> fds, boolean isPiped, ExecEvents events)
      throws KernelException;

  /** Reports to {@code events} about a command that runs already. */
  void expect(int exec, ExecEvents events);

  /** Asks for the report of a command's start at once; it may otherwise come with a later one. */
  void awaitStart(int exec) throws KernelException;

  /** Restarts the limits of a command that has waited. */
  void rearm(int exec, StartRequest request) throws KernelException;

  /** Starts the kill ladder of a command. */
  void kill(int exec, Signal signal, Duration grace) throws KernelException;

  /** Sends a signal other than SIGKILL to all processes of a command. */
  void signal(int exec, Signal signal) throws KernelException;

  /** Changes the size of a command's terminal. */
  void resize(int exec, ExecKind.Terminal size) throws KernelException;

  /** Ends the current output segment of a command. */
  void split(int exec) throws KernelException;

  /** Answers {@link ExecEvents#needLog}: earlier and further output goes to this file. */
  void giveLogs(int exec, Fd stdout, Fd stderr) throws KernelException;

  /** Refuses {@link ExecEvents#needLog}: further output is lost. */
  void refuseLogs(int exec, int errno) throws KernelException;

  // --- what is in it ---

  /** Returns its inventory; empty on a timeout. */
  Optional<BoxContents> inventory(Deadline deadline) throws KernelException, InterruptedException;

  /** Takes the inventory, then writes a file; the second request does not wait for an answer. */
  Optional<Inventory> inventoryThenWrite(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException;

  /**
   * Makes a new file in the workspace, without a process.
   *
   * @return its entry, see init/protocol.h; empty: it cannot be made this way
   */
  Optional<byte[]> writeFile(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException;

  /**
   * Lists the workspace, without a process.
   *
   * @return all entries, see init/protocol.h; empty: there are too many, or no answer came
   */
  Optional<byte[]> list(Deadline deadline) throws KernelException, InterruptedException;

  // --- its way out ---

  /**
   * Returns a socket that listens on the loopback of the box.
   *
   * @throws KernelException EADDRINUSE when a command has taken the port
   */
  Fd listen(int port, Deadline deadline) throws KernelException, InterruptedException;

  // --- the engine after this one ---

  /** Returns the nonce that proves the identity of the box to the next engine. */
  byte[] nonce();

  /**
   * Detaches the box: its init waits in {@code directory} for the next engine.
   *
   * @param deadline when pid 1 ends the box; zero: never
   */
  void detach(Fd directory, Duration deadline) throws KernelException;

  /**
   * Receives what happened to each expected command since the previous engine.
   *
   * @return false if the box died, the wait was called off, or the deadline passed
   */
  boolean greet(Deadline deadline, CallOff callOff) throws KernelException, InterruptedException;

  /** Returns the highest command number that pid 1 knew when it was greeted. */
  int highestKnown();

  /** Notifies init that the end of a command of a detached box is recorded. */
  void forget(int exec) throws KernelException;

  /** Disconnects from a detached box, which lives on; its commands are not lost. */
  void leave();
}
