package dev.ebb.backend;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import java.util.Optional;

/** A box whose set-up has begun. */
public interface Launch {
  /** Returns the box, which answers once it {@link #isUp}. */
  Sandbox sandbox();

  /** Returns the process that makes this box only, a child of this process until it is reaped. */
  Optional<Pidfd> outside();

  /**
   * Waits until init is up.
   *
   * @throws SetupException with the messages of its makers, when it cannot come up
   * @throws MakerLostException when its maker died while making it: another backend may make it
   */
  void await(Deadline deadline)
      throws KernelException, SetupException, MakerLostException, InterruptedException;

  /**
   * Cancels the set-up if init is not up. When this returns true, no further process enters the
   * box, and {@link Sandbox#init} is final.
   *
   * @return false on a timeout
   */
  boolean callOff(Deadline deadline) throws KernelException, InterruptedException;

  /** Returns true once init has sent HELLO; then the box needs no other process. */
  boolean isUp();

  /** Receives a set-up that has begun. */
  @FunctionalInterface
  interface Begun {
    void accept(Launch launch) throws KernelException;
  }

  /** The box could not be made, for a reason that the caller can act on. */
  final class SetupException extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean isForWantOfProcesses;

    public SetupException(String message) {
      this(message, false);
    }

    public SetupException(String message, boolean isForWantOfProcesses) {
      super(message);
      this.isForWantOfProcesses = isForWantOfProcesses;
    }

    /** Returns whether the host had no process to spare. */
    public boolean isForWantOfProcesses() {
      return isForWantOfProcesses;
    }
  }

  /** The process that was to make the box is gone or does not answer. */
  final class MakerLostException extends Exception {
    private static final long serialVersionUID = 1L;

    public MakerLostException(String message) {
      super(message);
    }
  }
}
