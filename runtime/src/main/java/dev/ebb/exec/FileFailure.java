package dev.ebb.exec;

import dev.ebb.kernel.Errno;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import java.util.List;
import java.util.Map;

/** Why a file operation failed, from an errno or the message of tar. */
final class FileFailure {
  private static final Map<Errno, String> WORDS =
      Map.ofEntries(
          Map.entry(Errno.ENOENT, "no such file or directory"),
          Map.entry(Errno.EACCES, "permission denied"),
          Map.entry(Errno.EPERM, "operation not permitted"),
          Map.entry(Errno.EROFS, "read-only file system"),
          Map.entry(Errno.EEXIST, "something else is there"),
          Map.entry(Errno.EISDIR, "is a directory"),
          Map.entry(Errno.ENOTDIR, "not a directory"),
          Map.entry(Errno.ENOTEMPTY, "directory not empty"),
          Map.entry(Errno.ENXIO, "not a regular file"),
          Map.entry(Errno.EBUSY, "in use, or a mount"),
          Map.entry(Errno.ESTALE, "moved meanwhile"),
          Map.entry(Errno.ELOOP, "too many links"),
          Map.entry(Errno.EXDEV, "on another file system"),
          Map.entry(Errno.ENOSPC, "no space left"),
          Map.entry(Errno.EDQUOT, "quota exceeded"),
          Map.entry(Errno.EFBIG, "file too large"),
          Map.entry(Errno.ENAMETOOLONG, "name too long"),
          Map.entry(Errno.EINVAL, "invalid argument"));

  private record TarWords(String text, ErrorCode code) {}

  /** ORDER: what explains the others comes first. */
  private static final List<TarWords> TAR_WORDS =
      List.of(
          new TarWords("No space left", ErrorCode.NO_SPACE),
          new TarWords("Wrote only", ErrorCode.NO_SPACE),
          new TarWords("File too large", ErrorCode.NO_SPACE),
          new TarWords("Read-only file system", ErrorCode.FORBIDDEN),
          new TarWords("Permission denied", ErrorCode.FORBIDDEN),
          new TarWords("Operation not permitted", ErrorCode.FORBIDDEN),
          new TarWords("Not a directory", ErrorCode.CONFLICT),
          new TarWords("File exists", ErrorCode.CONFLICT),
          new TarWords("Cannot open: No such file or directory", ErrorCode.NOT_FOUND));

  /** KERNEL: signal(7), SIGXFSZ. */
  private static final int FILE_SIZE_SIGNAL = 25;

  private FileFailure() {}

  static SandboxException of(String what, ExitCause cause) {
    return switch (cause) {
      case ExitCause.Exited(int errno) -> of(what, errno);
      case ExitCause.TimedOut _ -> failure(ErrorCode.TIMED_OUT, what, "not done in time");
      case ExitCause.OutputLimit _ -> failure(ErrorCode.TOO_LARGE, what, "too much of it");
      case ExitCause.OutOfMemory _ ->
          failure(ErrorCode.NO_SPACE, what, "the memory of the box is full");
      case ExitCause.Killed _, ExitCause.Lost _ ->
          failure(ErrorCode.WRONG_STATE, what, "it was ended");
      // Processes of the box have the same user, so they can kill it.
      case ExitCause.Signalled _ ->
          failure(ErrorCode.CONFLICT, what, "another process of the box ended it");
      case ExitCause.NotStarted _, ExitCause.Stuck _, ExitCause.OutputLost _ ->
          failure(ErrorCode.INTERNAL, what, cause.describe());
    };
  }

  private static SandboxException of(String what, int number) {
    Errno errno = Errno.of(number);
    String symbol = Errno.describe(number);
    String words = WORDS.get(errno);
    return failure(code(errno), what, words == null ? symbol : words + " (" + symbol + ")");
  }

  private static ErrorCode code(Errno errno) {
    return switch (errno) {
      case ENOENT -> ErrorCode.NOT_FOUND;
      case EACCES, EPERM, EROFS -> ErrorCode.FORBIDDEN;
      case EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ENXIO, EBUSY, ETXTBSY, ESTALE, ELOOP ->
          ErrorCode.CONFLICT;
      case ENOSPC, EFBIG, EDQUOT -> ErrorCode.NO_SPACE;
      case ENAMETOOLONG, EINVAL, EXDEV -> ErrorCode.BAD_REQUEST;
      default -> ErrorCode.INTERNAL;
    };
  }

  /** A failure of tar: its exit status is not specific, so its message is used. */
  static SandboxException ofTar(String what, ExitCause cause, String words) {
    if (cause.equals(new ExitCause.Signalled(FILE_SIZE_SIGNAL))) {
      return failure(ErrorCode.NO_SPACE, what, "a file in it is too large");
    }
    if (!(cause instanceof ExitCause.Exited)) {
      return of(what, cause);
    }
    ErrorCode code =
        TAR_WORDS.stream()
            .filter(known -> words.contains(known.text))
            .map(TarWords::code)
            .findFirst()
            .orElse(ErrorCode.BAD_REQUEST);
    return failure(code, what, words.isBlank() ? "tar failed" : words.strip());
  }

  private static SandboxException failure(ErrorCode code, String what, String why) {
    return new SandboxException(code, "cannot " + what + ": " + why);
  }
}
