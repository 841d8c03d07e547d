package dev.ebb.server.rest;

import dev.ebb.box.SandboxException;
import dev.ebb.server.access.Caller;
import dev.ebb.server.access.Gate;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;

/** Finds the caller and the route of each request, and answers what goes wrong. */
public final class RestHandler extends Handler.Abstract {
  private static final Logger LOG = System.getLogger(RestHandler.class.getName());
  private static final Fields NO_QUERY = Fields.EMPTY;

  private final Gate gate;
  private final List<Route> open;
  private final List<Route> routes;

  /** {@code open} needs no key. */
  RestHandler(Gate gate, List<Route> open, List<Route> routes) {
    this.gate = gate;
    this.open = List.copyOf(open);
    this.routes = List.copyOf(routes);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    try {
      dispatch(request, response);
      callback.succeeded();
    } catch (Problem problem) {
      refuse(request, response, callback, problem);
    } catch (Gate.Refusal e) {
      refuse(request, response, callback, problem(e));
    } catch (SandboxException e) {
      refuse(request, response, callback, Problem.of(e));
    } catch (EofException e) {
      // The caller has gone.
      callback.failed(e);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "event=request_broken", e);
      callback.failed(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      refuse(request, response, callback, new Problem(Problem.Code.DRAINING, "interrupted"));
    } catch (Exception e) {
      LOG.log(Level.ERROR, "event=request_failed path=" + request.getHttpURI().getPath(), e);
      refuse(request, response, callback, new Problem(Problem.Code.INTERNAL, e.toString()));
    }
    return true;
  }

  private void dispatch(Request request, Response response) throws Exception {
    gate.checkOrigin(request);
    List<String> path = path(request);
    if (handled(open, Caller.OWNER, path, request, response)) {
      return;
    }
    Caller caller = gate.caller(request);
    if (!handled(routes, caller, path, request, response)) {
      throw unknown(request, path);
    }
  }

  private static boolean handled(
      List<Route> routes, Caller caller, List<String> path, Request request, Response response)
      throws Exception {
    for (Route route : routes) {
      var names = route.match(path);
      if (names.isPresent() && route.method().equals(request.getMethod())) {
        Fields query = query(route, request);
        route.handling().handle(new Exchange(request, response, caller, names.get(), query));
        return true;
      }
    }
    return false;
  }

  /** What is encoded stays one part: a slash in a name never makes two of it. */
  private static List<String> path(Request request) {
    String raw = request.getHttpURI().getPath();
    try {
      return Stream.of(raw.substring(Math.min(1, raw.length())).split("/", -1))
          .map(part -> URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8))
          .toList();
    } catch (IllegalArgumentException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, "the path is not encoded well");
    }
  }

  private static Fields query(Route route, Request request) {
    Fields query;
    try {
      query =
          request.getHttpURI().getQuery() != null
              ? Request.extractQueryParameters(request)
              : NO_QUERY;
    } catch (RuntimeException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, "the query is not encoded well");
    }
    for (Fields.Field field : query) {
      String name = field.getName();
      if (!route.query().contains(name)) {
        String known =
            route.query().isEmpty()
                ? "none"
                : route.query().stream().sorted().collect(Collectors.joining(", "));
        throw new Problem(
            Problem.Code.BAD_REQUEST, "unknown query \"" + name + "\"; known here: " + known);
      }
    }
    return query;
  }

  private Problem unknown(Request request, List<String> path) {
    var methods =
        routes.stream().filter(r -> r.match(path).isPresent()).map(Route::method).toList();
    return methods.isEmpty()
        ? new Problem(Problem.Code.NOT_FOUND, "no such route")
        : new Problem(
            Problem.Code.METHOD_NOT_ALLOWED,
            request.getMethod() + " is not known here; known: " + String.join(", ", methods));
  }

  private static Problem problem(Gate.Refusal refusal) {
    return new Problem(
        refusal.isForbidden() ? Problem.Code.FORBIDDEN : Problem.Code.UNAUTHORIZED,
        String.valueOf(refusal.getMessage()));
  }

  private static void refuse(
      Request request, Response response, Callback callback, Problem problem) {
    if (response.isCommitted()) {
      // Half an answer is cut off, so that nobody takes it for a whole one.
      callback.failed(new IOException(problem.getMessage()));
      return;
    }
    try {
      response.reset();
      if (problem.code() == Problem.Code.UNAUTHORIZED) {
        response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
      }
      new Exchange(request, response, Caller.OWNER, Map.of(), NO_QUERY)
          .answer(problem.status(), "application/problem+json", Exchange.json(problem.document()));
      callback.succeeded();
    } catch (IOException | RuntimeException e) {
      callback.failed(e);
    }
  }
}
