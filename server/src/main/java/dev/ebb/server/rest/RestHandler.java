package dev.ebb.server.rest;

import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.server.access.Caller;
import dev.ebb.server.access.Gate;
import dev.ebb.server.access.TenantMemory;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.rest.RouteTable.Found;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Finds the caller and the route of each request, and answers what goes wrong. */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class RestHandler extends Handler.Abstract {
  private static final Logger LOG = System.getLogger(RestHandler.class.getName());

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** No tenant has this name. */
  private static final String OPERATORS = " operators";

  private final Gate gate;
  private final Metrics metrics;
  private final Watches watches;
  private final RouteTable open;
  private final RouteTable routes;
  private final TenantMemory memory;

  /** {@code open} needs no key. */
  RestHandler(
      Gate gate,
      Metrics metrics,
      Watches watches,
      TenantMemory memory,
      List<Route> open,
      List<Route> routes) {
    this.gate = gate;
    this.memory = memory;
    this.watches = watches;
    this.metrics = metrics;
    this.open = new RouteTable(open);
    this.routes = new RouteTable(routes);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    metrics.asked();
    watches.baseline().requestBegins();
    try (var departure = watches.departures().watch(request, response)) {
      if (!dispatch(request, response, callback, departure).isUpgraded()) {
        callback.succeeded();
      }
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
    } finally {
      watches.baseline().requestEnds();
    }
    return true;
  }

  private Exchange dispatch(
      Request request, Response response, Callback callback, Departures.Watch departure)
      throws Exception {
    gate.checkOrigin(request);
    List<String> path = path(request);
    Optional<Found> free = open.find(path).filter(found -> knows(found, request));
    Caller caller = free.isPresent() ? Caller.NOBODY : enter(request);
    Found found = free.or(() -> routes.find(path)).orElseThrow(RestHandler::unknown);
    Route route = found.route(request.getMethod()).orElseThrow(() -> notHere(request, found));
    if (!route.isEnding()) {
      requireRoom(request);
    }
    if (free.isEmpty() && !caller.isAdmin() && !route.isEnding()) {
      watches.quotas().countRequest(caller.tenant());
    }
    try (var claim = memory.claim(account(caller))) {
      if (free.isEmpty() && !route.isEnding()) {
        claim.add(Exchange.REQUEST);
      }
      var exchange =
          new Exchange(
              request,
              response,
              callback,
              caller,
              found.names(),
              query(route, request),
              departure,
              memory,
              claim);
      try {
        route.handling().handle(exchange);
      } catch (RuntimeException e) {
        throw exchange.meanwhile(e);
      }
      return exchange;
    }
  }

  /** Whose memory a request takes. Operators have a share of their own, whatever tenants do. */
  private static String account(Caller caller) {
    return caller.isAdmin() ? OPERATORS : caller.tenant();
  }

  private Caller enter(Request request) {
    Caller caller = gate.caller(request);
    if (request.getConnectionMetaData().getAttribute(Rest.GUEST) instanceof Rest.Guest guest) {
      guest.enter(caller.isAdmin());
    }
    return caller;
  }

  private static void requireRoom(Request request) {
    Object most = request.getConnectionMetaData().getAttribute(Rest.TOO_MANY);
    if (most != null) {
      throw SandboxException.later(
          ErrorCode.PRESSURE,
          "there are " + most + " connections, and no more are served",
          RETRY,
          Map.of("reason", "connections"));
    }
  }

  private static boolean knows(Found found, Request request) {
    return found.route(request.getMethod()).isPresent();
  }

  private static Query query(Route route, Request request) {
    String text = request.getHttpURI().getQuery();
    return text == null ? Query.NONE : Query.parse(text, route.query());
  }

  /** What is encoded stays one part: a slash in a name never makes two of it. */
  private static List<String> path(Request request) {
    String raw = request.getHttpURI().getPath();
    return Stream.of(raw.substring(Math.min(1, raw.length())).split("/", -1))
        .map(part -> Query.decode(part.replace("+", "%2B")))
        .toList();
  }

  private static Problem unknown() {
    return new Problem(Problem.Code.NOT_FOUND, "no such route");
  }

  private static Problem notHere(Request request, Found found) {
    return new Problem(
        Problem.Code.METHOD_NOT_ALLOWED,
        request.getMethod() + " is not known here; known: " + String.join(", ", found.methods()));
  }

  private static Problem problem(Gate.Refusal refusal) {
    return new Problem(
        refusal.isForbidden() ? Problem.Code.FORBIDDEN : Problem.Code.UNAUTHORIZED,
        String.valueOf(refusal.getMessage()));
  }

  private void refuse(Request request, Response response, Callback callback, Problem problem) {
    metrics.refused(problem.code().word());
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
      problem
          .retryAfterSeconds()
          .ifPresent(seconds -> response.getHeaders().put(HttpHeader.RETRY_AFTER, seconds));
      if (request.getConnectionMetaData().getAttribute(Rest.TOO_MANY) != null) {
        response.getHeaders().put(HttpHeader.CONNECTION, "close");
      }
      Exchange.answer(
          response,
          problem.status(),
          "application/problem+json",
          Exchange.json(problem.document()));
      callback.succeeded();
    } catch (IOException | RuntimeException e) {
      callback.failed(e);
    }
  }
}
