package dev.ebb.box;

import org.jspecify.annotations.Nullable;

/** The one exception of the engine: a stable code, and a sentence for the reader. */
public final class SandboxException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorCode code;

  public SandboxException(ErrorCode code, String message) {
    this(code, message, null);
  }

  public SandboxException(ErrorCode code, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  /** A kernel call failed where nothing the caller did could make it. */
  public static SandboxException internal(Exception cause) {
    return new SandboxException(ErrorCode.INTERNAL, String.valueOf(cause.getMessage()), cause);
  }

  public ErrorCode code() {
    return code;
  }
}
