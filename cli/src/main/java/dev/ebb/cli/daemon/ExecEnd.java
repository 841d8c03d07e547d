package dev.ebb.cli.daemon;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.Cause;
import dev.ebb.client.Exec;
import dev.ebb.client.Lost;
import org.jspecify.annotations.Nullable;

/** How a command in a box of the daemon ended, as an exit code and as text. */
public final class ExecEnd {
  private ExecEnd() {}

  public static int code(@Nullable Integer exitCode) {
    return exitCode == null ? ExitCode.OWN_FAILURE : exitCode;
  }

  /** Prints a line about every end that is not the command's own. */
  public static void explain(Caller caller, Exec ended) {
    if (ended.lost() != null) {
      print(caller, words(ended.lost()));
    }
    Cause cause = ended.cause();
    if (cause == null) {
      return;
    }
    String message = cause.message();
    switch (cause.kind()) {
      case "timed-out" -> print(caller, "timed out (--timeout)");
      case "out-of-memory" -> print(caller, "out of memory");
      case "output-limit" -> print(caller, "stopped at the output limit (--output-limit)");
      case "lost" -> print(caller, "the box died while the command ran");
      case "not-started", "stuck" -> print(caller, message == null ? cause.kind() : message);
      default -> {}
    }
  }

  public static String words(@Nullable Lost lost) {
    return lost == null
        ? "output was lost"
        : "output was lost: %d bytes of stdout and %d of stderr could not be stored (%s)"
            .formatted(lost.stdoutBytes(), lost.stderrBytes(), lost.reason());
  }

  private static void print(Caller caller, String message) {
    caller.err().println("ebb: " + message);
  }
}
