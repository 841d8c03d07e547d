package dev.ebb.server.rest;

import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** An answer that is not what was asked for, as RFC 9457 has it. */
public final class Problem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The stable words for what can go wrong. */
  public enum Code {
    BAD_REQUEST(400, "The request makes no sense"),
    UNAUTHORIZED(401, "Who are you?"),
    FORBIDDEN(403, "You may not"),
    NOT_FOUND(404, "There is no such thing"),
    METHOD_NOT_ALLOWED(405, "Not with this method"),
    TIMED_OUT(408, "Not done in time"),
    CONFLICT(409, "It is in the way of something"),
    WRONG_STATE(409, "Not in this state"),
    TOO_LARGE(413, "Too large"),
    UNSUPPORTED(422, "This host cannot"),
    QUOTA(429, "You have all that you may have"),
    INTERNAL(500, "Our fault"),
    SETUP_FAILED(502, "It could not be made"),
    UNFIT(503, "The host lacks something"),
    PRESSURE(503, "Too little is left just now"),
    DRAINING(503, "Going down");

    private final int status;
    private final String title;

    Code(int status, String title) {
      this.status = status;
      this.title = title;
    }

    public String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private final Code code;
  private final boolean retryable;
  private final Duration retryAfter;
  private final transient Map<String, Object> facts;

  public Problem(Code code, String detail) {
    this(code, detail, code == Code.DRAINING || code == Code.SETUP_FAILED, Duration.ZERO, Map.of());
  }

  private Problem(
      Code code, String detail, boolean retryable, Duration retryAfter, Map<String, Object> facts) {
    super(detail, null, false, false);
    this.code = code;
    this.retryable = retryable;
    this.retryAfter = retryAfter;
    this.facts = facts;
  }

  public static Problem of(SandboxException e) {
    return new Problem(
        code(e.code()),
        String.valueOf(e.getMessage()),
        e.code().isRetryable(),
        e.retryAfter(),
        e.facts());
  }

  private static Code code(ErrorCode code) {
    return switch (code) {
      case BAD_REQUEST -> Code.BAD_REQUEST;
      case MOUNT_REFUSED, FORBIDDEN -> Code.FORBIDDEN;
      case NOT_FOUND -> Code.NOT_FOUND;
      case CONFLICT -> Code.CONFLICT;
      case WRONG_STATE -> Code.WRONG_STATE;
      case NO_SPACE, TOO_LARGE -> Code.TOO_LARGE;
      case TIMED_OUT -> Code.TIMED_OUT;
      case UNSUPPORTED -> Code.UNSUPPORTED;
      case SETUP_FAILED, SETUP_TIMED_OUT -> Code.SETUP_FAILED;
      case HOST_UNFIT, NO_USERS_LEFT -> Code.UNFIT;
      case DRAINING, INTERRUPTED -> Code.DRAINING;
      case PRESSURE -> Code.PRESSURE;
      case QUOTA -> Code.QUOTA;
      case INTERNAL -> Code.INTERNAL;
    };
  }

  int status() {
    return code.status;
  }

  public Code code() {
    return code;
  }

  /** In whole seconds, as the header has them; empty where nobody knows. */
  OptionalLong retryAfterSeconds() {
    return retryAfter.isZero()
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(1, retryAfter.plusMillis(999).toSeconds()));
  }

  Map<String, Object> document() {
    var document = new LinkedHashMap<String, Object>();
    document.put("type", "urn:ebb:problem:" + code.word());
    document.put("title", code.title);
    document.put("status", code.status);
    document.put("detail", String.valueOf(getMessage()));
    document.put("code", code.word());
    document.put("retryable", retryable);
    if (!retryAfter.isZero()) {
      document.put("retryAfterMillis", retryAfter.toMillis());
    }
    document.putAll(facts);
    hint().ifPresent(hint -> document.put("hint", hint));
    return document;
  }

  private Optional<String> hint() {
    return switch (code) {
      case UNAUTHORIZED ->
          Optional.of("send Authorization: Bearer <key>; make one: ebb key create");
      case PRESSURE -> Optional.of("try again later; ebb pressure shows what is short");
      case QUOTA -> Optional.of("end something, or try again later; ebb quota ls shows all quotas");
      case UNFIT, UNSUPPORTED -> Optional.of("ebb doctor says what is missing");
      case DRAINING -> Optional.of("try again when it is up again");
      case NOT_FOUND ->
          Optional.of("GET /v1/openapi.json lists the routes, GET /v1/boxes the boxes");
      default -> Optional.empty();
    };
  }
}
