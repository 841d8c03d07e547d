package dev.ebb.backend.bubblewrap;

import dev.ebb.process.OutputLoss;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * What init says of one exec, in order: started or refused; output…; looked; ended. Called on the
 * poller.
 */
public interface ExecEvents {
  /**
   * It runs.
   *
   * @param pid of the command inside the box; 0 if it was killed before it was known
   * @param shepherd the pid inside of what adopts its orphans; 0 when it has a cgroup instead
   */
  void started(int pid, int shepherd);

  /** It never ran; the last word. */
  void refused(Step step, int errno);

  /**
   * What it wrote since the last word, of a stream that init has in memory: there are no logs yet,
   * or none that takes it. The next word counts it.
   */
  void kept(byte[] stdout, byte[] stderr);

  /** Of one without logs: it writes more than is kept, and waits for logs. */
  void full();

  /** How much it has written by now. */
  void output(long stdout, long stderr);

  /** What it wrote until it was cut; what it writes from now on is counted anew. */
  void section(Written written);

  /** What the workspace holds now that it has ended, see init/protocol.h; of a program. */
  void looked(byte[] entries);

  /** The last word. */
  void ended(Ended ended);

  /** Init is gone, and with it every process of the box; the last word. */
  void lost();

  /** Init lives and never heard of it, or no longer knows it: it does not run; the last word. */
  void unheard();

  /** Where a start failed. */
  enum Step {
    REQUEST,
    CLONE,
    WORKDIR,
    LIMITS,
    EXEC
  }

  /** Who ended it. */
  enum Reason {
    BY_ITSELF,
    KILLED,
    TIMED_OUT,
    OUTPUT_LIMIT,
    OUT_OF_MEMORY
  }

  /**
   * What init saw it use; a cgroup knows better.
   *
   * @param crowded it had as many processes as it may have
   */
  record Usage(Duration cpu, long peakMemory, int peakProcesses, boolean crowded) {}

  /**
   * A part of its output.
   *
   * @param truncated there was more, which was thrown away
   * @param loss what could not be stored
   */
  record Written(long stdoutSize, long stderrSize, boolean truncated, OutputLoss loss) {}

  /**
   * How it ended.
   *
   * @param status exit code or signal
   * @param stuck members outlived SIGKILL
   * @param unreaped the leader is among them, and has no status
   * @param loss what could not be stored
   * @param leftovers members alive when the leader ended
   * @param at nanoseconds of CLOCK_MONOTONIC, when that was; empty: an older init does not tell
   * @param hadStrangers processes from outside the box were in its leaf, and were killed
   */
  record Ended(
      Reason reason,
      boolean exited,
      int status,
      boolean stuck,
      boolean truncated,
      boolean unreaped,
      long stdoutSize,
      long stderrSize,
      OutputLoss loss,
      int leftovers,
      Usage usage,
      OptionalLong at,
      boolean hadStrangers) {}
}
