package dev.ebb.client.http;

import java.time.Duration;
import java.util.Set;

/**
 * A request.
 *
 * @param patience how long the server may send and read nothing; zero for no limit
 */
public record Request(String method, Target target, Headers headers, Body body, Duration patience) {
  public static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Set<String> IDEMPOTENT = Set.of("GET", "HEAD", "PUT", "DELETE");

  public static Request of(String method, Target target) {
    return new Request(method, target, Headers.none(), Body.NONE, PATIENCE);
  }

  public Request with(String header, String value) {
    return new Request(method, target, headers.with(header, value), body, patience);
  }

  public Request with(Body newBody) {
    return new Request(method, target, headers, newBody, patience);
  }

  public Request with(Duration newPatience) {
    return new Request(method, target, headers, body, newPatience);
  }

  boolean isIdempotent() {
    return IDEMPOTENT.contains(method);
  }

  /** Returns the request line and the fields, up to the empty line. */
  String head(Endpoint endpoint) {
    var head = new StringBuilder(method).append(' ').append(target).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(endpoint.authority()).append("\r\n");
    headers.writeTo(head);
    if (!body.type().isEmpty()) {
      head.append("Content-Type: ").append(body.type()).append("\r\n");
    }
    if (body.length() < 0) {
      head.append("Transfer-Encoding: chunked\r\n");
    } else if (body.length() > 0 || !method.equals("GET")) {
      head.append("Content-Length: ").append(body.length()).append("\r\n");
    }
    return head.append("\r\n").toString();
  }
}
