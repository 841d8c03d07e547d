package dev.ebb.server.http;

import java.util.Map;

/** The form in which a door reports an error. */
@FunctionalInterface
public interface ErrorForm {
  /** {@code application/problem+json} of RFC 9457. */
  ErrorForm PROBLEM_JSON =
      (problem, _) ->
          new Answer(
              problem.status(),
              "application/problem+json",
              Exchange.json(problem.document()),
              problem.code() == Problem.Code.UNAUTHORIZED
                  ? Map.of("WWW-Authenticate", "Bearer")
                  : Map.of());

  /** Makes the answer for a problem. The dispatcher adds the Retry-After header. */
  Answer of(Problem problem, Asked asked);

  /** A complete answer. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Answer(int status, String type, byte[] body, Map<String, String> headers) {
    public Answer {
      headers = Map.copyOf(headers);
    }
  }
}
