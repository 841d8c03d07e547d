package dev.ebb.backend;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import java.util.Optional;

/** A box whose set-up has begun. */
public interface Launch {
  /** The box; it can be asked once it {@link #isUp}. */
  Sandbox sandbox();

  /** The process that makes this box and no other, a child of ours until it is reaped. */
  Optional<Pidfd> outside();

  /**
   * Waits until init is up.
   *
   * @throws SetupException with what its makers said, when it will not come up
   * @throws MakerLostException when its maker died over it: another may make it
   */
  void await(Deadline deadline)
      throws KernelException, SetupException, MakerLostException, InterruptedException;

  /**
   * Calls off what is not up: when this returns true, no process is put into the box any more, and
   * {@link Sandbox#init} is final.
   *
   * @return false when the deadline came first
   */
  boolean callOff(Deadline deadline) throws KernelException, InterruptedException;

  /** True once init has said hello; then no other process is needed for the box. */
  boolean isUp();

  /** Takes over what was begun. */
  @FunctionalInterface
  interface Begun {
    void accept(Launch launch) throws KernelException;
  }

  /** The box could not be made, for a reason worth telling the caller. */
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

    /** The host had none to spare. */
    public boolean isForWantOfProcesses() {
      return isForWantOfProcesses;
    }
  }

  /** What was to make the box is gone, or does not answer. */
  final class MakerLostException extends Exception {
    private static final long serialVersionUID = 1L;

    public MakerLostException(String message) {
      super(message);
    }
  }
}
