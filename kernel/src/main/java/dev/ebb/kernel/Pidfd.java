package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.KILL;
import static dev.ebb.kernel.SystemCall.PIDFD_OPEN;
import static dev.ebb.kernel.SystemCall.PIDFD_SEND_SIGNAL;
import static dev.ebb.kernel.SystemCall.WAITID;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** A handle on one process that no other can inherit: its number may be reused, this may not. */
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

  /** The process that bears the number now; throws ESRCH when there is none. */
  public static Pidfd open(Scope scope, int pid) throws KernelException {
    try (var frame = new Frame()) {
      long fd = frame.callForDescriptor(PIDFD_OPEN, pid, 0);
      boolean isOld = fd == -Errno.ENOSYS.number();
      String action = "open pidfd of " + pid + (isOld ? " before Linux 5.4" : "");
      return of(pid, Fd.adopt(scope, (int) Frame.check(fd, action), "pidfd " + pid));
    }
  }

  /** A handle on a child just started, which does not outlive the failure to own it. */
  static Pidfd ofChild(Scope scope, int pid) throws KernelException {
    try {
      return open(scope, pid);
    } catch (KernelException | RuntimeException e) {
      endChild(pid);
      throw e;
    }
  }

  /** Right only for a child of ours that is not reaped: its number cannot move. */
  private static void endChild(int pid) throws KernelException {
    try (var frame = new Frame()) {
      Frame.check(frame.call(KILL, pid, Signal.KILL.number()), "kill child " + pid);
      Frame.check(
          frame.callThroughInterrupts(WAITID, P_PID, pid, 0, WEXITED, 0), "wait for child " + pid);
    }
  }

  /** A pidfd that another process handed over. */
  public static Pidfd of(int pid, Fd fd) {
    return new Pidfd(pid, fd);
  }

  /** Whether {@code fd} is one at all: it came from a stranger. */
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

  /** Readable as soon as the process is dead. */
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

  /** Reaps a child by number: right only for a zombie child of ours, whose number cannot move. */
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
