package dev.ebb.server.http;

import java.util.Map;

/** How a door puts what went wrong. */
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

  /** What to answer. When to try again is added to it, as all clients of HTTP know it. */
  Answer of(Problem problem, Asked asked);

  /** A whole answer. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Answer(int status, String type, byte[] body, Map<String, String> headers) {
    public Answer {
      headers = Map.copyOf(headers);
    }
  }
}
