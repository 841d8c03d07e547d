package dev.ebb.process;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import java.util.Optional;

/** The identity of a process that outlives its number: pid and start time, as written down. */
public record ProcessRef(int pid, long startTime) {
  public static Optional<ProcessRef> of(int pid) {
    return ProcFs.stat(pid).map(stat -> new ProcessRef(pid, stat.startTime()));
  }

  /** This very process. */
  public static ProcessRef self() {
    return of((int) ProcessHandle.current().pid()).orElseThrow();
  }

  /** The form of the ledger: {@code <pid>@<start time>}. */
  @Override
  public String toString() {
    return pid + "@" + startTime;
  }

  /** Reads that form, or throws an IllegalArgumentException. */
  public static ProcessRef parse(String text) {
    int at = text.indexOf('@');
    if (at < 0) {
      throw new IllegalArgumentException("no process: \"" + text + "\"");
    }
    return new ProcessRef(
        Integer.parseInt(text.substring(0, at)), Long.parseLong(text.substring(at + 1)));
  }

  /** Reads that form from a file that may be damaged; empty if it is no process. */
  public static Optional<ProcessRef> parseIfWhole(String text) {
    try {
      return Optional.of(parse(text));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** The very process, dead or alive, is still in the table. */
  public boolean exists() {
    return ProcFs.stat(pid).filter(stat -> stat.startTime() == startTime).isPresent();
  }

  /** Returns whether the process runs: it exists, and is no zombie. */
  public boolean isAlive() {
    return ProcFs.stat(pid)
        .filter(stat -> stat.startTime() == startTime && !stat.isZombie())
        .isPresent();
  }

  /** Signals the very process; false if it is gone. */
  public boolean signal(Signal signal) throws KernelException {
    try (var scope = new Scope()) {
      if (!exists()) {
        return false;
      }
      Pidfd pidfd = Pidfd.open(scope, pid);
      // RACE: the number may have been reused before the pidfd was opened, not after.
      if (!exists()) {
        return false;
      }
      pidfd.signal(signal);
      return true;
    } catch (KernelException e) {
      if (e.is(dev.ebb.kernel.Errno.ESRCH)) {
        return false;
      }
      throw e;
    }
  }
}
