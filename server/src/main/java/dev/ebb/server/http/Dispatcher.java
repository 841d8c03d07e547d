package dev.ebb.server.http;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.RouteTable.Found;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Finds the caller and the route of each request, and answers failures. */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class Dispatcher extends Handler.Abstract {
  private static final Logger LOG = System.getLogger(Dispatcher.class.getName());

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** No tenant has this name. */
  private static final String OPERATORS = " operators";

  private final Gate gate;
  private final Watches watches;
  private final DoorTable doors;
  private final RefusalLog refusals =
      new RefusalLog(
          "code=several", kind -> LOG.log(Level.INFO, "event=request_refused {0}", kind));
  private final RefusalLog denials =
      new RefusalLog("remote=several", kind -> LOG.log(Level.INFO, "event=key_denied {0}", kind));

  /** Counts and bounds the requests of all doors. */
  public record Watches(
      Metrics metrics,
      BaselineWatch baseline,
      Quotas quotas,
      Disconnects disconnects,
      TenantMemory memory) {}

  /** One of the doors is mounted everywhere, and answers requests that match no other door. */
  public Dispatcher(Gate gate, Watches watches, List<? extends Door> doors) {
    this.gate = gate;
    this.watches = watches;
    this.doors = new DoorTable(doors);
    if (this.doors.find("", List.of()).isEmpty()) {
      throw new IllegalArgumentException("no door is mounted everywhere");
    }
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    watches.metrics().asked();
    try {
      return answer(request, response, callback);
    } finally {
      watches.metrics().answered();
    }
  }

  private boolean answer(Request request, Response response, Callback callback) {
    var asked = new Asked(request);
    DoorTable.Found door = doors.find(asked.host(), asked.pathIfWell()).orElseThrow();
    var visit = new Visit(asked, door, response, callback, new Subject());
    watches.baseline().requestBegins();
    try (var disconnect = watches.disconnects().watch(request, response)) {
      if (!dispatch(visit, disconnect).isUpgraded()) {
        callback.succeeded();
      }
    } catch (Problem problem) {
      refuse(visit, problem);
    } catch (Gate.Refusal e) {
      refuse(visit, problem(e));
    } catch (SandboxException e) {
      refuse(visit, Problem.of(e));
    } catch (EofException e) {
      // The caller has disconnected.
      callback.failed(e);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "event=request_broken", e);
      callback.failed(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      refuse(visit, new Problem(Problem.Code.DRAINING, "interrupted"));
    } catch (Exception e) {
      LOG.log(Level.ERROR, "event=request_failed path=" + request.getHttpURI().getPath(), e);
      refuse(visit, new Problem(Problem.Code.INTERNAL, SandboxException.describe(e)));
    } finally {
      watches.baseline().requestEnds();
    }
    return true;
  }

  @Override
  protected void doStop() throws Exception {
    super.doStop();
    refusals.close();
    denials.close();
  }

  /** What is known of a request so far, for the log; for the thread of the request. */
  private static final class Subject {
    private String tenant = "none";
    private String route = "none";
  }

  /** A request at its door, and its response. */
  private record Visit(
      Asked asked, DoorTable.Found found, Response response, Callback callback, Subject subject) {
    Request request() {
      return asked.request();
    }

    MountedDoor mounted() {
      return found.door();
    }

    Door door() {
      return found.door().door();
    }
  }

  private Exchange dispatch(Visit visit, Disconnects.Watch disconnect) throws Exception {
    Asked asked = visit.asked();
    gate.checkOrigin(asked, visit.found());
    List<String> path = asked.path();
    Optional<Found> free = visit.mounted().look(path).filter(found -> isOpen(found, asked));
    Caller caller = free.isPresent() ? Caller.ANONYMOUS : enter(visit);
    Found found = free.or(() -> visit.mounted().find(path)).orElseThrow(Dispatcher::unknown);
    Route route = found.route(asked.method()).orElseThrow(() -> notHere(asked, found));
    visit.subject().route = route.template();
    Gate.requireRight(caller, route);
    if (!route.isEnding()) {
      requireRoom(visit.request());
    }
    if (free.isEmpty() && !caller.isAdmin() && !route.isEnding()) {
      watches.quotas().countRequest(caller.tenant());
    }
    try (var claim = watches.memory().claim(account(caller))) {
      if (free.isEmpty() && !route.isEnding()) {
        claim.add(Exchange.REQUEST);
      }
      var exchange =
          new Exchange(
              visit.request(),
              visit.response(),
              visit.callback(),
              caller,
              found.names(),
              query(visit, route),
              disconnect,
              watches.memory(),
              claim);
      try {
        route.handling().handle(exchange);
      } catch (RuntimeException e) {
        throw exchange.meanwhile(e);
      }
      return exchange;
    }
  }

  /**
   * Returns the account that a request's memory is charged to. Operators have a share of their own,
   * whatever tenants use.
   */
  private static String account(Caller caller) {
    return caller.isAdmin() ? OPERATORS : caller.tenant();
  }

  private Caller enter(Visit visit) {
    Caller caller = gate.caller(visit.asked(), visit.door());
    visit.subject().tenant = caller.tenant();
    if (visit.request().getConnectionMetaData().getAttribute(Guests.GUEST)
        instanceof Guests.Guest guest) {
      guest.enter(caller.isAdmin());
    }
    return caller;
  }

  private static void requireRoom(Request request) {
    Object most = request.getConnectionMetaData().getAttribute(Guests.TOO_MANY);
    if (most != null) {
      throw SandboxException.later(
          ErrorCode.PRESSURE,
          "there are " + most + " connections, and no more are served",
          RETRY,
          Map.of("reason", "connections"));
    }
  }

  private static boolean isOpen(Found found, Asked asked) {
    return found.route(asked.method()).filter(Route::isOpen).isPresent();
  }

  private static Query query(Visit visit, Route route) {
    String text = visit.request().getHttpURI().getQuery();
    if (text == null) {
      return Query.NONE;
    }
    boolean isTolerant = visit.door().toleratesQueries();
    Set<String> ofKey = visit.door().key().queries();
    return Query.parse(
        text, new Query.Known(route.query(), name -> isTolerant || ofKey.contains(name)));
  }

  private static Problem unknown() {
    return new Problem(Problem.Code.NOT_FOUND, "no such route");
  }

  private static Problem notHere(Asked asked, Found found) {
    return new Problem(
        Problem.Code.METHOD_NOT_ALLOWED,
        asked.method() + " is not known here; known: " + String.join(", ", found.methods()));
  }

  private static Problem problem(Gate.Refusal refusal) {
    return new Problem(
        refusal.isForbidden() ? Problem.Code.FORBIDDEN : Problem.Code.UNAUTHORIZED,
        String.valueOf(refusal.getMessage()));
  }

  /** Logs a refusal without what the caller sent, but a method and a route that are known. */
  private void log(Visit visit, Problem problem) {
    if (problem.code() == Problem.Code.UNAUTHORIZED) {
      denials.add(
          "remote=%s door=%s reason=\"%s\""
              .formatted(
                  Request.getRemoteAddr(visit.request()),
                  visit.door().name(),
                  problem.getMessage()));
      return;
    }
    Subject subject = visit.subject();
    refusals.add(
        "code=%s status=%d tenant=%s method=%s route=%s"
            .formatted(
                problem.code().wireName(),
                problem.status(),
                subject.tenant,
                subject.route.equals("none") ? "none" : visit.asked().method(),
                subject.route));
  }

  /** Answers with an error in the form of the door. */
  private void refuse(Visit visit, Problem problem) {
    watches.metrics().refused(problem.code().wireName());
    log(visit, problem);
    Response response = visit.response();
    Callback callback = visit.callback();
    if (response.isCommitted()) {
      // A partial answer is cut off, so that no client takes it for a complete one.
      callback.failed(new IOException(problem.getMessage()));
      return;
    }
    try {
      response.reset();
      ErrorForm.Answer answer = visit.door().errors().of(problem, visit.asked());
      answer.headers().forEach((name, value) -> response.getHeaders().put(name, value));
      problem
          .retryAfterSeconds()
          .ifPresent(seconds -> response.getHeaders().put(HttpHeader.RETRY_AFTER, seconds));
      if (visit.request().getConnectionMetaData().getAttribute(Guests.TOO_MANY) != null) {
        response.getHeaders().put(HttpHeader.CONNECTION, "close");
      }
      Exchange.answer(response, answer.status(), answer.type(), answer.body());
      callback.succeeded();
    } catch (IOException | RuntimeException e) {
      callback.failed(e);
    }
  }
}
