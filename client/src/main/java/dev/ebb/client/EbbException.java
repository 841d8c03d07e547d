package dev.ebb.client;

import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The daemon refused, or failed: its problem document. */
public class EbbException extends IOException {
  private static final long serialVersionUID = 1L;
  private static final int EXCERPT = 200;

  private final int status;
  private final String code;
  private final String detail;
  private final boolean retryable;
  private final @Nullable String hint;
  private final @Nullable Duration retryAfter;

  EbbException(int status, JsonObject problem) throws JsonException {
    super(detail(status, problem));
    this.status = status;
    code = orElse(problem.stringOrNull("code"), "unknown");
    detail = detail(status, problem);
    retryable = problem.isTrue("retryable");
    hint = problem.stringOrNull("hint");
    retryAfter = problem.millisOrNull("retryAfterMillis");
  }

  private static String detail(int status, JsonObject problem) throws JsonException {
    String title = orElse(problem.stringOrNull("title"), "status " + status);
    return orElse(problem.stringOrNull("detail"), title);
  }

  private static String orElse(@Nullable String text, String otherwise) {
    return text == null ? otherwise : text;
  }

  /** Makes an exception from an answer that should contain a problem document. */
  static EbbException of(int status, byte[] body) {
    try {
      try {
        return of(status, Json.readObject(body));
      } catch (JsonException e) {
        return of(status, JsonObject.empty().with("detail", excerpt(status, body)));
      }
    } catch (JsonException e) {
      throw new AssertionError("an excerpt is a string", e);
    }
  }

  private static EbbException of(int status, JsonObject problem) throws JsonException {
    return switch (status) {
      case 404 -> new NotFoundException(status, problem);
      case 409 -> new ConflictException(status, problem);
      default -> new EbbException(status, problem);
    };
  }

  /** The answer itself, unless it reports the problem of a call that failed late. */
  static JsonObject unlessProblem(JsonObject answer) throws EbbException, JsonException {
    JsonObject problem = answer.objectOrNull("problem");
    if (problem != null) {
      throw of((int) problem.number("status"), problem);
    }
    return answer;
  }

  private static String excerpt(int status, byte[] body) {
    var text = new StringBuilder("status " + status);
    for (int i = 0; i < body.length && i < EXCERPT; i++) {
      boolean printable = body[i] >= ' ' && body[i] < 127;
      text.append(i == 0 ? ": " : "").append(printable ? (char) body[i] : '?');
    }
    return text.toString();
  }

  /** The HTTP status. */
  public int status() {
    return status;
  }

  /** Returns the error code of the API, {@code wrong-state} for instance. */
  public String code() {
    return code;
  }

  /** The description of the problem. */
  public String detail() {
    return detail;
  }

  /** Whether the same request may succeed later. */
  public boolean isRetryable() {
    return retryable;
  }

  /** How long to wait before a retry, if the daemon knows. */
  public @Nullable Duration retryAfter() {
    return retryAfter;
  }

  /** What to do about it, if the daemon knows. */
  public @Nullable String hint() {
    return hint;
  }
}
