package dev.ebb.model;

import java.util.List;

/** Why a command ended, as the kernel reported it. */
public sealed interface ExitCause {
  record Exited(int code) implements ExitCause {}

  record Signalled(int signal) implements ExitCause {}

  /** Its time was up; {@code last} is the exit of the leader. */
  record TimedOut(Exit last) implements ExitCause {}

  record OutOfMemory(Exit last) implements ExitCause {}

  record OutputLimit(Exit last) implements ExitCause {}

  /** It ended by itself, but some output could not be stored: {@link OutputLoss}. */
  record OutputLost(Exit last) implements ExitCause {}

  /** Killed by the engine on request. */
  record Killed(Exit last) implements ExitCause {}

  /** Its box died. */
  record Lost() implements ExitCause {}

  /** Some of its processes outlived SIGKILL. */
  record Stuck(List<StuckProcess> processes) implements ExitCause {}

  /** It never ran: {@code code} is 126 or 127, as in a shell. */
  record NotStarted(int code, String reason) implements ExitCause {}

  /** The status of waitid(2): exactly one of the two is set, the other is 0. */
  record Exit(int code, int signal) {
    /** Returns the status as in a shell: 128 + n for a signal. */
    public int shellCode() {
      return signal != 0 ? 128 + signal : code;
    }

    /** Returns the status for a person. */
    public String describe() {
      return signal != 0 ? "killed by signal " + signal : "exited with code " + code;
    }
  }

  int SIGKILL_CODE = 137;
  int SIGTERM_CODE = 143;
  int TIMEOUT_CODE = 124;
  int FAILURE_CODE = 125;

  /**
   * Returns the wire name: exited, killed, timed-out, out-of-memory, output-limit, output-lost,
   * not-started, lost, stuck.
   */
  default String status() {
    return switch (this) {
      case Exited(var code) -> code == SIGKILL_CODE || code == SIGTERM_CODE ? "killed" : "exited";
      case Signalled _, Killed _ -> "killed";
      case TimedOut _ -> "timed-out";
      case OutOfMemory _ -> "out-of-memory";
      case OutputLimit _ -> "output-limit";
      case OutputLost _ -> "output-lost";
      case Lost _ -> "lost";
      case Stuck _ -> "stuck";
      case NotStarted _ -> "not-started";
    };
  }

  /**
   * Returns the wire name of the cause, one of ten: an exited or signalled command may have the
   * status killed.
   */
  default String kind() {
    return switch (this) {
      case Exited _ -> "exited";
      case Signalled _ -> "signalled";
      case Killed _, TimedOut _, OutOfMemory _, OutputLimit _, OutputLost _ -> status();
      case Lost _, Stuck _, NotStarted _ -> status();
    };
  }

  /** Returns the value that a shell would put into {@code $?}, by docker's conventions. */
  default int code() {
    return switch (this) {
      case Exited(var code) -> code;
      case Signalled(var signal) -> 128 + signal;
      case TimedOut _ -> TIMEOUT_CODE;
      case OutOfMemory _, OutputLimit _ -> SIGKILL_CODE;
      case Killed(var last) -> last.shellCode() == 0 ? SIGTERM_CODE : last.shellCode();
      case NotStarted(var code, _) -> code;
      case Lost _, Stuck _, OutputLost _ -> FAILURE_CODE;
    };
  }

  /** Returns the cause for a person. */
  default String describe() {
    return switch (this) {
      case Exited(var code) -> new Exit(code, 0).describe();
      case Signalled(var signal) -> new Exit(0, signal).describe();
      case TimedOut(var last) -> "timed out, " + last.describe();
      case OutOfMemory(var last) -> "out of memory, " + last.describe();
      case OutputLimit(var last) -> "output limit reached, " + last.describe();
      case OutputLost(var last) -> "output lost, " + last.describe();
      case Killed(var last) -> "killed on request, " + last.describe();
      case Lost _ -> "lost with its box";
      case Stuck(var processes) -> "stuck: " + processes.size() + " processes outlived SIGKILL";
      case NotStarted(_, var reason) -> "not started: " + reason;
    };
  }
}
