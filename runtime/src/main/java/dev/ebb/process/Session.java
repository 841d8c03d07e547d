package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The processes of one session, which make a box until its init is known.
 *
 * <p>KERNEL: a number is not given to a new process while a session bears it. So members of the
 * session {@code leader.pid()} are ours unless another leader has or had that number. {@code mark},
 * an argument that only their command lines have, distinguishes them.
 */
public record Session(ProcessRef leader, String mark) {
  /** The processes that make a box, by the first argument of their command line. */
  private static final Predicate<String> MAKER =
      Pattern.compile("(.*/)?bwrap|ebb-init").asMatchPredicate();

  /** The session that is about to begin: its leader is not known yet. */
  public static ProcessRef toBegin() {
    return new ProcessRef(0, ProcessRef.self().startTime());
  }

  private boolean isToBegin() {
    return leader.pid() == 0;
  }

  /** Returns whether a process, dead or alive, is a member; a zombie shows no command line. */
  public boolean holds(int pid) {
    return ProcFs.stat(pid)
        .filter(stat -> bears(stat))
        .filter(stat -> (stat.isZombie() && !isToBegin()) || isMarked(ProcFs.wholeCommandLine(pid)))
        .isPresent();
  }

  private boolean bears(ProcFs.Stat stat) {
    return (isToBegin() || stat.session() == leader.pid())
        && stat.startTime() >= leader.startTime();
  }

  private boolean isMarked(String commandLine) {
    List<String> words = List.of(commandLine.split(" "));
    return words.contains(mark) && (!isToBegin() || MAKER.test(words.getFirst()));
  }

  /**
   * The living members, and processes that may turn out to be members.
   *
   * <p>KERNEL: in the middle of exec(2) a process has no command line.
   */
  public List<Integer> members() {
    return ProcFs.all().stream().filter(this::mayLive).toList();
  }

  private boolean mayLive(int pid) {
    return ProcFs.stat(pid)
        .filter(stat -> bears(stat) && !stat.isZombie())
        .map(_ -> ProcFs.wholeCommandLine(pid))
        .filter(line -> (line.isEmpty() && !isToBegin()) || isMarked(line))
        .isPresent();
  }

  /** Kills those that are certain now; to be repeated until there is none. */
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
