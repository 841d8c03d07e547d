package dev.ebb.torture.host;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import java.io.IOException;
import java.util.Optional;

/** A process that may be killed: one below us, by its number and the moment of its start. */
public record Target(int pid, long startTime) {
  public static Target of(ProcessEntry process) {
    return new Target(process.pid(), process.startTime());
  }

  /** The process with this number, if it descends from us. */
  public static Optional<ProcessEntry> find(ProcessTable processes, int pid) {
    return processes.entries().stream()
        .filter(each -> each.pid() == pid && processes.isBelowUs(each))
        .findFirst();
  }

  /**
   * Kills it, and no other process: the handle is opened first, and what the number means is looked
   * at once more then.
   *
   * @return false if it was gone
   */
  public boolean kill() throws IOException {
    return signal(Signal.KILL);
  }

  /** Sends it a signal, as carefully as {@link #kill}. */
  public boolean signal(Signal signal) throws IOException {
    try (var scope = new Scope()) {
      Pidfd handle = Pidfd.open(scope, pid);
      boolean same =
          find(ProcessTable.read(), pid)
              .filter(process -> process.startTime() == startTime && !process.isZombie())
              .isPresent();
      if (same) {
        handle.signal(signal);
      }
      return same;
    } catch (KernelException e) {
      return false;
    }
  }
}
