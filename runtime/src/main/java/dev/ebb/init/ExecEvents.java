package dev.ebb.init;

import dev.ebb.model.OutputLoss;
import java.time.Duration;

/**
 * The messages of init about one exec, in order: started or refused; output…; listed; ended. Called
 * on the poller.
 */
public interface ExecEvents {
  /**
   * The command runs.
   *
   * @param pid of the command inside the box; 0 if it was killed before its pid was known
   * @param subreaper the pid, inside the box, of the process that adopts its orphans; 0 when it has
   *     a cgroup instead
   */
  void started(int pid, int subreaper);

  /** It never ran; the last message. */
  void refused(Step step, int errno);

  /**
   * Output since the last message, of a stream that init buffers: there are no logs yet, or none
   * that takes it. The next message counts it.
   */
  void buffered(byte[] stdout, byte[] stderr);

  /** An exec without logs writes more than init buffers, and waits for logs. */
  void needLog();

  /** How much it has written by now. */
  void output(long stdout, long stderr);

  /** The output up to SPLIT; the counts of what the command writes next start at zero. */
  void segment(Written written);

  /** The files in the workspace after the end of a program, see init/protocol.h. */
  void listed(byte[] entries);

  /** It ended; the last message. */
  void ended(Ended ended);

  /** Init is gone, and with it every process of the box; the last message. */
  void lost();

  /** Init lives and does not know the exec, so it does not run; the last message. */
  void unknown();

  /** Where a start failed. */
  enum Step {
    REQUEST,
    CLONE,
    WORKDIR,
    LIMITS,
    EXEC
  }

  /** The reason why the command ended. */
  enum Reason {
    BY_ITSELF,
    KILLED,
    TIMED_OUT,
    OUTPUT_LIMIT,
    OUT_OF_MEMORY
  }

  /**
   * The usage that init saw; a cgroup knows better.
   *
   * @param crowded whether it had as many processes as it may have
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
   * @param at nanoseconds of CLOCK_MONOTONIC, when that was
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
      long at,
      boolean hadStrangers) {}
}
