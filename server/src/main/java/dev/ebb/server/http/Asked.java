package dev.ebb.server.http;

import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpCookie;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * What a request asks for, as a door sees it before anybody is let in: its head, and nothing of its
 * body. For the thread of the request.
 */
public final class Asked {
  private final Request request;
  private @Nullable List<String> path;

  Asked(Request request) {
    this.request = request;
  }

  Request request() {
    return request;
  }

  public String method() {
    return request.getMethod();
  }

  /** The name by which the server is called, without a port, in lower case. */
  public String host() {
    return String.valueOf(Request.getServerName(request)).toLowerCase(Locale.ROOT);
  }

  /** The parts of its path. What is encoded stays one part: a slash in it never makes two. */
  public List<String> path() {
    if (path == null) {
      String raw = request.getHttpURI().getPath();
      path =
          Stream.of(raw.substring(Math.min(1, raw.length())).split("/", -1))
              .map(part -> Query.decode(part.replace("+", "%2B")))
              .toList();
    }
    return path;
  }

  /** Its path, or none if it is not encoded well. */
  List<String> pathIfWell() {
    try {
      return path();
    } catch (Problem e) {
      return List.of();
    }
  }

  public Optional<String> header(String name) {
    return Optional.ofNullable(request.getHeaders().get(name));
  }

  public Optional<String> cookie(String name) {
    return Request.getCookies(request).stream()
        .filter(cookie -> cookie.getName().equals(name))
        .map(HttpCookie::getValue)
        .findFirst();
  }

  /** The first query parameter of this name. */
  public Optional<String> query(String name) {
    String text = request.getHttpURI().getQuery();
    return text == null ? Optional.empty() : Query.first(text, name);
  }

  /** The page that made a browser send it. */
  Optional<String> origin() {
    return Optional.ofNullable(request.getHeaders().get(HttpHeader.ORIGIN));
  }

  /** Whether it came over the unix socket. */
  boolean isLocal() {
    SocketAddress local = request.getConnectionMetaData().getLocalSocketAddress();
    return local instanceof UnixDomainSocketAddress;
  }
}
