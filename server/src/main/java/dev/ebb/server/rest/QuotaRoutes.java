package dev.ebb.server.rest;

import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The quotas of tenants and their use. A tenant sees its own; admins see and set all. */
final class QuotaRoutes {
  private static final Map<Quota.Kind, Field<Optional<Double>>> FIELDS = fieldsByKind();

  private static final RequestSchema REQUEST =
      RequestSchema.named("QuotaRequest", FIELDS.values().toArray(Field<?>[]::new));

  private static final ObjectSchema<Map<Quota.Kind, Double>> QUOTA = quota();

  /** The quota of a tenant, and its use. */
  private record Held(String tenant, Quota limits, Map<Quota.Kind, Double> use) {}

  private static final ObjectSchema<Held> TENANT =
      ObjectSchema.<Held>named("TenantQuota")
          .has("tenant", Values.TEXT, Held::tenant)
          .has("limits", QUOTA, held -> held.limits().limits())
          .has("use", QUOTA, Held::use);

  /** All quotas that were set. */
  private record All(Quota otherwise, List<Held> tenants) {}

  private static final ObjectSchema<All> QUOTAS =
      ObjectSchema.<All>named("Quotas")
          .has("default", QUOTA, all -> all.otherwise().limits())
          .has("tenants", Values.list(TENANT), All::tenants);

  private static final Parameter<String> WHOSE = Parameter.path("tenant");

  private static final Operation LIST =
      Operation.of("listQuotas", "The quotas that were set, and the default (admin)")
          .answers(200, "done", QUOTAS)
          .needs(Right.ADMIN);
  private static final Operation GET =
      Operation.of("getQuota", "What holds for a tenant, and what it has")
          .with(WHOSE)
          .answers(200, "done", TENANT);
  private static final Operation SET =
      Operation.of("setQuota", "Set the quota of a tenant (admin)")
          .with(WHOSE)
          .takes(REQUEST)
          .example("boxes", 10L, "memoryBytes", 8L << 30)
          .answers(200, "done", TENANT)
          .needs(Right.ADMIN);
  private static final Operation REMOVE =
      Operation.of("removeQuota", "Let the default hold for a tenant (admin)")
          .with(WHOSE)
          .answers(204, "done")
          .needs(Right.ADMIN);

  private final Quotas quotas;
  private final BoxRegistry boxes;

  QuotaRoutes(Quotas quotas, BoxRegistry boxes) {
    this.quotas = quotas;
    this.boxes = boxes;
  }

  List<Route> routes() {
    return List.of(
        Route.of("GET", "/v1/quotas", this::list, LIST),
        Route.of("GET", "/v1/quotas/{tenant}", this::get, GET),
        Route.of("PUT", "/v1/quotas/{tenant}", this::set, SET),
        Route.of("DELETE", "/v1/quotas/{tenant}", this::remove, REMOVE));
  }

  private static Map<Quota.Kind, Field<Optional<Double>>> fieldsByKind() {
    var fields = new EnumMap<Quota.Kind, Field<Optional<Double>>>(Quota.Kind.class);
    for (Quota.Kind kind : Quota.Kind.values()) {
      fields.put(kind, Field.number(field(kind)).with("type", type(kind)).with("minimum", 0));
    }
    return fields;
  }

  private static ObjectSchema<Map<Quota.Kind, Double>> quota() {
    var schema = ObjectSchema.<Map<Quota.Kind, Double>>named("Quota", "What is absent may be any.");
    for (Quota.Kind kind : Quota.Kind.values()) {
      Value<Number> amount = Values.plain(Map.of("type", type(kind)));
      schema.may(
          field(kind),
          amount,
          amounts -> Optional.ofNullable(amounts.get(kind)).map(QuotaRoutes::plain));
    }
    return schema;
  }

  private void list(Exchange exchange) throws IOException {
    var tenants = quotas.list().keySet().stream().map(this::held).toList();
    exchange.answer(200, QUOTAS.write(new All(quotas.otherwise(), tenants)));
  }

  private void get(Exchange exchange) throws IOException {
    Caller caller = exchange.caller();
    String tenant = exchange.get(WHOSE);
    if (!caller.mayTouch(tenant)) {
      throw new Problem(Problem.Code.FORBIDDEN, "an admin key is needed for other tenants");
    }
    exchange.answer(200, TENANT.write(held(tenant)));
  }

  private void set(Exchange exchange) throws IOException {
    Fields fields = exchange.fields(REQUEST);
    var limits = new EnumMap<Quota.Kind, Double>(Quota.Kind.class);
    FIELDS.forEach((kind, field) -> fields.get(field).ifPresent(limit -> limits.put(kind, limit)));
    fields.end();
    String tenant = exchange.get(WHOSE);
    try {
      quotas.set(tenant, new Quota(limits));
    } catch (IllegalArgumentException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, String.valueOf(e.getMessage()));
    }
    exchange.answer(200, TENANT.write(held(tenant)));
  }

  private void remove(Exchange exchange) {
    String tenant = exchange.get(WHOSE);
    if (!quotas.remove(tenant)) {
      throw new Problem(
          Problem.Code.NOT_FOUND, "tenant \"" + tenant + "\" has no quota of its own");
    }
    exchange.done();
  }

  private Held held(String tenant) {
    return new Held(tenant, quotas.of(tenant), boxes.use(tenant));
  }

  private static Number plain(double amount) {
    return amount == Math.rint(amount) ? (Number) (long) amount : (Number) amount;
  }

  private static String type(Quota.Kind kind) {
    return switch (kind) {
      case CPUS, RATE -> "number";
      case BOXES, EXECS, PIDS, MEMORY -> "integer";
    };
  }

  private static String field(Quota.Kind kind) {
    return switch (kind) {
      case MEMORY -> "memoryBytes";
      case RATE -> "requestsPerSecond";
      case BOXES, EXECS, CPUS, PIDS -> kind.wireName();
    };
  }
}
