package dev.ebb.cli.daemon;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.EbbException;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.nio.file.FileSystemException;

/** Prints a failure of a call to the daemon, as text or as JSON. */
public final class DaemonFailure {
  private DaemonFailure() {}

  public static int print(Caller caller, IOException e, boolean json) {
    if (json) {
      caller.out().println(JsonObject.empty().with("error", document(e)));
    } else {
      caller.err().println("ebb: " + words(e));
    }
    return ExitCode.OWN_FAILURE;
  }

  public static String words(IOException e) {
    if (e instanceof EbbException problem) {
      String hint = problem.hint();
      return hint == null ? problem.detail() : problem.detail() + "; " + hint;
    }
    if (e instanceof FileSystemException file) {
      String reason = file.getReason();
      return file.getFile() + ": " + (reason == null ? kind(file) : reason);
    }
    return String.valueOf(e.getMessage());
  }

  /** The reason, which the JDK expresses by the type alone. */
  private static String kind(FileSystemException e) {
    return switch (e.getClass().getSimpleName()) {
      case "NoSuchFileException" -> "no such file";
      case "AccessDeniedException" -> "permission denied";
      case "FileAlreadyExistsException" -> "already exists";
      case "NotDirectoryException" -> "not a directory";
      default -> e.getClass().getSimpleName();
    };
  }

  private static JsonObject document(IOException e) {
    if (e instanceof EbbException problem) {
      return JsonObject.empty()
          .with("code", problem.code())
          .with("message", problem.detail())
          .with("hint", problem.hint())
          .with("retryable", problem.isRetryable());
    }
    return JsonObject.empty().with("code", "unreachable").with("message", words(e));
  }
}
