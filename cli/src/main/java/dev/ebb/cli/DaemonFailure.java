package dev.ebb.cli;

import dev.ebb.client.EbbException;
import dev.ebb.client.json.JsonObject;
import java.io.IOException;
import java.nio.file.FileSystemException;

/** What went wrong with the daemon, in words or as an object. */
final class DaemonFailure {
  private DaemonFailure() {}

  static int tell(IOException e, boolean json) {
    if (json) {
      System.out.println(JsonObject.empty().with("error", document(e)));
    } else {
      System.err.println("ebb: " + words(e));
    }
    return Main.OWN_FAILURE;
  }

  static String words(IOException e) {
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

  /** What the JDK says by the type alone. */
  private static String kind(FileSystemException e) {
    return switch (e.getClass().getSimpleName()) {
      case "NoSuchFileException" -> "no such file";
      case "AccessDeniedException" -> "permission denied";
      case "FileAlreadyExistsException" -> "it exists";
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
