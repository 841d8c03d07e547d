package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.KILL;
import static dev.ebb.kernel.SystemCall.PIDFD_OPEN;
import static dev.ebb.kernel.SystemCall.PIDFD_SEND_SIGNAL;
import static dev.ebb.kernel.SystemCall.WAITID;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A handle on one process. The kernel may reuse its pid, but the handle never means another one.
 */
public final class Pidfd {
  private static final int P_PID = 1;
  private static final int P_PIDFD = 3;
  private static final int WNOHANG = 1;
  private static final int WEXITED = 4;
  private static final int SIGINFO_SIZE = 128;
  private static final int SI_CODE = 8;
  private static final int SI_PID = 16;
  private static final int SI_STATUS = 24;

  /** How a child ended: {@code si_code} and {@code si_status} of waitid(2). */
  public record WaitStatus(int pid, int code, int status) {
    public static final int CLD_EXITED = 1;

    public boolean isExit() {
      return code == CLD_EXITED;
    }
  }

  private final int pid;
  private final Fd fd;

  private Pidfd(int pid, Fd fd) {
    this.pid = pid;
    this.fd = fd;
  }

  /** Opens the process that has this pid now; throws ESRCH if there is none. */
  public static Pidfd open(Scope scope, int pid) throws KernelException {
    try (var frame = new Frame()) {
      long fd = frame.callForDescriptor(PIDFD_OPEN, pid, 0);
      boolean isOld = fd == -Errno.ENOSYS.number();
      String action = "open pidfd of " + pid + (isOld ? " before Linux 5.4" : "");
      return of(pid, Fd.adopt(scope, (int) Frame.check(fd, action), "pidfd " + pid));
    }
  }

  /** Opens a child that was just started; kills and reaps the child if that fails. */
  static Pidfd ofChild(Scope scope, int pid) throws KernelException {
    try {
      return open(scope, pid);
    } catch (KernelException | RuntimeException e) {
      endChild(pid);
      throw e;
    }
  }

  /** Correct only for a child of ours that is not reaped: its pid cannot be reused. */
  private static void endChild(int pid) throws KernelException {
    try (var frame = new Frame()) {
      Frame.check(frame.call(KILL, pid, Signal.KILL.number()), "kill child " + pid);
      Frame.check(
          frame.callThroughInterrupts(WAITID, P_PID, pid, 0, WEXITED, 0), "wait for child " + pid);
    }
  }

  /** Returns a handle for a pidfd that another process passed. */
  public static Pidfd of(int pid, Fd fd) {
    return new Pidfd(pid, fd);
  }

  /** Returns whether {@code fd} is a pidfd; it came from an untrusted process. */
  public static boolean isOne(Fd fd) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      long result = frame.call(PIDFD_SEND_SIGNAL, use.number(), 0, 0, 0);
      return result != -Errno.EBADF.number() && result != -Errno.EINVAL.number();
    }
  }

  public int pid() {
    return pid;
  }

  /** Returns the descriptor; it is readable as soon as the process is dead. */
  public Fd fd() {
    return fd;
  }

  /** Sends a signal; a process already gone is no error. */
  public void signal(Signal signal) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      long result = frame.call(PIDFD_SEND_SIGNAL, use.number(), signal.number(), 0, 0);
      if (result != -Errno.ESRCH.number()) {
        Frame.check(result, "send SIG" + signal + " to pid " + pid);
      }
    }
  }

  /** Reaps the process if it is a dead child of ours; ECHILD if it is no child of ours. */
  public Optional<WaitStatus> reap() throws KernelException {
    try (var use = fd.new Use()) {
      return reap(P_PIDFD, use.number(), pid);
    }
  }

  /** Reaps a child by pid; correct only for a zombie child of ours, whose pid cannot be reused. */
  public static Optional<WaitStatus> reapZombie(int pid) throws KernelException {
    return reap(P_PID, pid, pid);
  }

  private static Optional<WaitStatus> reap(int type, int id, int pid) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment info = frame.allocate(SIGINFO_SIZE);
      long result = frame.call(WAITID, type, id, info.address(), WEXITED | WNOHANG, 0);
      Frame.check(result, "wait for pid " + pid);
      int reaped = info.get(JAVA_INT, SI_PID);
      return reaped == 0
          ? Optional.empty()
          : Optional.of(
              new WaitStatus(reaped, info.get(JAVA_INT, SI_CODE), info.get(JAVA_INT, SI_STATUS)));
    }
  }
}
