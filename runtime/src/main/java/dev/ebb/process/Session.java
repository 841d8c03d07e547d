package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import java.util.List;

/**
 * The processes of one session: what makes a box, until its init is known.
 *
 * <p>KERNEL: a number is not given to a new process while a session bears it. So members of the
 * session {@code leader.pid()} are ours unless another leader of that number is there, or has been:
 * which {@code mark} tells, a word of their command lines that nobody else has.
 */
public record Session(ProcessRef leader, String mark) {

  /** Whether a process, dead or alive, is a member; a zombie has no command line to show. */
  public boolean holds(int pid) {
    return ProcFs.stat(pid)
        .filter(stat -> stat.session() == leader.pid() && stat.startTime() >= leader.startTime())
        .filter(stat -> stat.isZombie() || isMarked(pid))
        .isPresent();
  }

  private boolean isMarked(int pid) {
    return List.of(ProcFs.commandLine(pid).split(" ")).contains(mark);
  }

  /** The living members. */
  public List<Integer> members() {
    return ProcFs.all().stream()
        .filter(this::holds)
        .filter(pid -> ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isPresent())
        .toList();
  }

  /** Kills those that are there now; to be repeated until there is none. */
  public void kill() throws KernelException {
    for (int pid : members()) {
      try (var scope = new Scope()) {
        Pidfd pidfd = Pidfd.open(scope, pid);
        // RACE: the number may have been reused before the pidfd was opened, not after.
        if (holds(pid)) {
          pidfd.signal(Signal.KILL);
        }
      } catch (KernelException e) {
        if (!e.is(Errno.ESRCH)) {
          throw e;
        }
      }
    }
  }
}
