package dev.ebb.server.http;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** An error answer in the form of RFC 9457. */
public final class Problem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The stable codes of errors. */
  public enum Code {
    BAD_REQUEST(400, "Bad request"),
    UNAUTHORIZED(401, "Authentication required"),
    FORBIDDEN(403, "Forbidden"),
    NOT_FOUND(404, "Not found"),
    METHOD_NOT_ALLOWED(405, "Method not allowed"),
    NOT_ACCEPTABLE(406, "Not acceptable"),
    TIMED_OUT(408, "Timed out"),
    CONFLICT(409, "Conflict"),
    WRONG_STATE(409, "Wrong state"),
    TOO_LARGE(413, "Too large"),
    UNSUPPORTED(422, "Not supported on this host"),
    QUOTA(429, "Quota exceeded"),
    INTERNAL(500, "Internal error"),
    SETUP_FAILED(502, "Setup failed"),
    UNFIT(503, "Host unfit"),
    PRESSURE(503, "Too few resources left"),
    DRAINING(503, "Shutting down");

    private final int status;
    private final String title;

    Code(int status, String title) {
      this.status = status;
      this.title = title;
    }

    public int status() {
      return status;
    }

    public String title() {
      return title;
    }

    public String wireName() {
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

  /** Returns the refusal of a request that accepts none of these media types. */
  static Problem notAcceptable(String... offers) {
    String all = String.join(", ", offers);
    return new Problem(
        Code.NOT_ACCEPTABLE, "the Accept header of the request excludes what is offered: " + all);
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

  public int status() {
    return code.status;
  }

  public Code code() {
    return code;
  }

  /** Returns the value of the Retry-After header, in whole seconds; empty if unknown. */
  OptionalLong retryAfterSeconds() {
    return retryAfter.isZero()
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(1, retryAfter.plusMillis(999).toSeconds()));
  }

  /** The schema. */
  public static final ObjectSchema<Problem> SCHEMA =
      ObjectSchema.<Problem>named("Problem", "RFC 9457.")
          .has("type", Values.TEXT, problem -> "urn:ebb:problem:" + problem.code.wireName())
          .has("title", Values.TEXT, problem -> problem.code.title)
          .has("status", Values.INTEGER, Problem::status)
          .has("detail", Values.TEXT, problem -> String.valueOf(problem.getMessage()))
          .has("code", Values.words(Code.values(), Code::wireName), Problem::code)
          .has("retryable", Values.FLAG, problem -> problem.retryable)
          .may(
              "retryAfterMillis",
              Values.MILLIS.described(
                  "when it may be tried again; the header Retry-After has it in seconds"),
              problem -> Optional.of(problem.retryAfter).filter(Duration::isPositive))
          .may(
              "resource",
              Values.TEXT.described(
                  "of pressure: what is short; use, limit, source, percent and reason come with"
                      + " it"),
              problem -> problem.fact("resource"))
          .may(
              "quota",
              Values.TEXT.described("of quota: which one; use and limit come with it"),
              problem -> problem.fact("quota"))
          .may("hint", Values.TEXT, Problem::hint);

  private Optional<String> fact(String name) {
    return Optional.ofNullable(facts.get(name)).map(String::valueOf);
  }

  public Map<String, Object> document() {
    Map<String, Object> document = SCHEMA.write(this);
    facts.forEach(document::putIfAbsent);
    return document;
  }

  private Optional<String> hint() {
    return switch (code) {
      case UNAUTHORIZED ->
          Optional.of("send Authorization: Bearer <key>; make one: ebb key create");
      case PRESSURE -> Optional.of("try again later; ebb pressure shows what is short");
      case QUOTA -> Optional.of("end something, or try again later; ebb quota ls shows all quotas");
      case UNFIT, UNSUPPORTED -> Optional.of("ebb doctor reports what is missing");
      case DRAINING -> Optional.of("try again when it is up again");
      case NOT_FOUND ->
          Optional.of("GET /v1/openapi.json lists the routes, GET /v1/boxes the boxes");
      default -> Optional.empty();
    };
  }
}
