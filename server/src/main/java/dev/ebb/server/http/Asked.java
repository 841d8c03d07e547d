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
 * The head of a request, as a door sees it before the caller is authenticated. For the thread of
 * the request.
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

  /** Returns the host that the request names, without a port, in lower case. */
  public String host() {
    return String.valueOf(Request.getServerName(request)).toLowerCase(Locale.ROOT);
  }

  /** Returns the parts of the path. An encoded slash stays within its part. */
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

  /** Returns the parts of the path; none if it is badly encoded. */
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

  /** Returns the first query parameter of this name. */
  public Optional<String> query(String name) {
    String text = request.getHttpURI().getQuery();
    return text == null ? Optional.empty() : Query.first(text, name);
  }

  /** Returns the origin of the web page that made a browser send the request. */
  Optional<String> origin() {
    return Optional.ofNullable(request.getHeaders().get(HttpHeader.ORIGIN));
  }

  /** Returns whether the request came over the unix socket. */
  boolean isLocal() {
    SocketAddress local = request.getConnectionMetaData().getLocalSocketAddress();
    return local instanceof UnixDomainSocketAddress;
  }
}
