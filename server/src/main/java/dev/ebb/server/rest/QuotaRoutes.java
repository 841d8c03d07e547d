package dev.ebb.server.rest;

import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import java.io.IOException;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What tenants may have, and have. A tenant sees its own; admins see and set all. */
final class QuotaRoutes {
  private final Quotas quotas;
  private final BoxRegistry boxes;

  QuotaRoutes(Quotas quotas, BoxRegistry boxes) {
    this.quotas = quotas;
    this.boxes = boxes;
  }

  List<Route> routes() {
    return List.of(
        Route.of("GET", "/v1/quotas", this::list),
        Route.of("GET", "/v1/quotas/{tenant}", this::get),
        Route.of("PUT", "/v1/quotas/{tenant}", this::set),
        Route.of("DELETE", "/v1/quotas/{tenant}", this::remove));
  }

  private void list(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    var tenants = quotas.list().keySet().stream().map(this::document).toList();
    exchange.answer(
        200, Documents.object("default", limits(quotas.otherwise()), "tenants", tenants));
  }

  private void get(Exchange exchange) throws IOException {
    Caller caller = exchange.caller();
    String tenant = exchange.path("tenant");
    if (!caller.mayTouch(tenant)) {
      throw new Problem(Problem.Code.FORBIDDEN, "an admin key is needed for other tenants");
    }
    exchange.answer(200, document(tenant));
  }

  private void set(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    Fields fields = exchange.fields();
    var limits = new EnumMap<Quota.Kind, Double>(Quota.Kind.class);
    for (Quota.Kind kind : Quota.Kind.values()) {
      fields.fraction(field(kind)).ifPresent(limit -> limits.put(kind, limit));
    }
    fields.end();
    String tenant = exchange.path("tenant");
    try {
      quotas.set(tenant, new Quota(limits));
    } catch (IllegalArgumentException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, String.valueOf(e.getMessage()));
    }
    exchange.answer(200, document(tenant));
  }

  private void remove(Exchange exchange) {
    exchange.requireAdmin();
    String tenant = exchange.path("tenant");
    if (!quotas.remove(tenant)) {
      throw new Problem(
          Problem.Code.NOT_FOUND, "tenant \"" + tenant + "\" has no quota of its own");
    }
    exchange.done();
  }

  private Map<String, Object> document(String tenant) {
    var use = new LinkedHashMap<String, Object>();
    boxes.use(tenant).forEach((kind, amount) -> use.put(field(kind), plain(amount)));
    return Documents.object("tenant", tenant, "limits", limits(quotas.of(tenant)), "use", use);
  }

  private static Map<String, Object> limits(Quota quota) {
    var limits = new LinkedHashMap<String, Object>();
    for (Quota.Kind kind : Quota.Kind.values()) {
      Double limit = quota.limits().get(kind);
      if (limit != null) {
        limits.put(field(kind), plain(limit));
      }
    }
    return limits;
  }

  private static Number plain(double amount) {
    return amount == Math.rint(amount) ? (Number) (long) amount : (Number) amount;
  }

  static String field(Quota.Kind kind) {
    return switch (kind) {
      case MEMORY -> "memoryBytes";
      case RATE -> "requestsPerSecond";
      case BOXES, EXECS, CPUS, PIDS -> kind.wireName();
    };
  }
}
