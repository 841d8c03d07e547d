package dev.ebb.model;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The one exception of the engine: a stable code, and a sentence for people. */
public final class SandboxException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorCode code;
  private final transient Map<String, Object> facts;
  private final Duration retryAfter;

  public SandboxException(ErrorCode code, String message) {
    this(code, message, null);
  }

  public SandboxException(ErrorCode code, String message, @Nullable Throwable cause) {
    this(code, message, cause, Duration.ZERO, Map.of());
  }

  private SandboxException(
      ErrorCode code,
      String message,
      @Nullable Throwable cause,
      Duration retryAfter,
      Map<String, Object> facts) {
    super(message, cause);
    this.code = code;
    this.retryAfter = retryAfter;
    this.facts = Collections.unmodifiableMap(new LinkedHashMap<>(facts));
  }

  /**
   * Makes an exception for a request that may succeed later.
   *
   * @param facts the content of the message, for programs
   */
  public static SandboxException later(
      ErrorCode code, String message, Duration retryAfter, Map<String, Object> facts) {
    return new SandboxException(code, message, null, retryAfter, facts);
  }

  /** Makes an exception for a kernel call whose failure no input of the caller explains. */
  public static SandboxException internal(Exception cause) {
    return new SandboxException(ErrorCode.INTERNAL, String.valueOf(cause.getMessage()), cause);
  }

  /** Returns the text for a failure that the code does not expect: what it is, and where. */
  public static String describe(Throwable unexpected) {
    return Arrays.stream(unexpected.getStackTrace())
        .filter(frame -> frame.getClassName().startsWith("dev.ebb."))
        .findFirst()
        .map(frame -> unexpected + " in " + place(frame))
        .orElseGet(unexpected::toString);
  }

  private static String place(StackTraceElement frame) {
    return frame.getClassName() + "." + frame.getMethodName() + ", line " + frame.getLineNumber();
  }

  public ErrorCode code() {
    return code;
  }

  /** Returns when to retry; zero if that is unknown. */
  public Duration retryAfter() {
    return retryAfter;
  }

  public Map<String, Object> facts() {
    return facts;
  }
}
