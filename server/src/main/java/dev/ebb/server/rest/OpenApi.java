package dev.ebb.server.rest;

import dev.ebb.server.http.DescribedRoute;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.access.Role;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The OpenAPI document, derived from the routes. It is made for each request, and not kept. */
final class OpenApi {
  private static final Operation DOCUMENT =
      Operation.of("getOpenApi", "This document").answersObject(200, "done");

  private static final List<Problem.Code> OF_ANY =
      List.of(Problem.Code.BAD_REQUEST, Problem.Code.INTERNAL);
  private static final List<Problem.Code> OF_KEY =
      List.of(Problem.Code.UNAUTHORIZED, Problem.Code.FORBIDDEN);
  private static final List<Problem.Code> OF_LIMITS =
      List.of(Problem.Code.QUOTA, Problem.Code.PRESSURE);

  private static final List<Problem.Code> OF_BODY =
      List.of(Problem.Code.TOO_LARGE, Problem.Code.TIMED_OUT);

  private final List<Route> routes;
  private final List<DescribedRoute> others;
  private final Components components = new Components();
  private final Map<String, Object> responses = new TreeMap<>();

  /** Makes the document of these routes, and of those of doors that are not loaded yet. */
  OpenApi(List<Route> routes, List<DescribedRoute> others) {
    this.routes = routes;
    this.others = others;
  }

  /** Returns the route that serves it, to be added to {@code routes}. */
  static Route route(List<Route> routes, List<DescribedRoute> others) {
    return Route.of(
        "GET",
        "/v1/openapi.json",
        exchange -> answer(exchange, new OpenApi(routes, others)),
        DOCUMENT);
  }

  private static void answer(Exchange exchange, OpenApi document) throws IOException {
    exchange.answer(200, document.write());
  }

  Map<String, Object> write() {
    Map<String, Object> paths = paths();
    var parts = new LinkedHashMap<String, Object>();
    parts.put("securitySchemes", Map.of("key", key()));
    parts.put("responses", responses);
    parts.put("schemas", components.all());
    return Values.keywords(
        "openapi",
        "3.1.0",
        "info",
        info(),
        "servers",
        List.of(Values.keywords("url", "/", "description", "the daemon that answers this")),
        "security",
        List.of(Map.of("key", List.of()), Map.of()),
        "paths",
        paths,
        "components",
        parts);
  }

  private static Map<String, Object> info() {
    return Values.keywords(
        "title",
        "Ebb",
        "version",
        "1",
        "description",
        "Runs untrusted code in sandboxes and leaves nothing behind.",
        "license",
        Values.keywords("name", "Apache-2.0", "identifier", "Apache-2.0"));
  }

  private static Map<String, Object> key() {
    return Values.keywords(
        "type", "http", "scheme", "bearer", "description", "over TCP; none over the unix socket");
  }

  // --- errors ---

  /** Describes a status, which stands for one code or several. */
  private static String titles(int status) {
    return Stream.of(Problem.Code.values())
        .filter(code -> code.status() == status)
        .map(code -> code.title() + " (" + code.wireName() + ")")
        .collect(Collectors.joining("; "));
  }

  private Map<String, Object> problem(String description) {
    var content = Map.of("schema", Problem.SCHEMA.describe(components));
    return Values.keywords(
        "description", description, "content", Map.of("application/problem+json", content));
  }

  private Map<String, Object> errors(DescribedRoute route) {
    Operation operation = route.operation();
    var codes = new TreeSet<Problem.Code>(operation.errors());
    codes.addAll(OF_ANY);
    if (!route.isOpen()) {
      codes.addAll(OF_KEY);
    }
    if (!route.isOpen() && !route.isEnding()) {
      codes.addAll(OF_LIMITS);
    }
    if (operation.parameters().stream().anyMatch(OpenApi::isInPath)) {
      codes.add(Problem.Code.NOT_FOUND);
    }
    if (operation.body().isPresent()) {
      codes.addAll(OF_BODY);
    }
    var errors = new TreeMap<String, Object>();
    codes.forEach(code -> errors.put(Integer.toString(code.status()), error(code.status())));
    errors.put("default", error("Problem", "what went wrong"));
    return errors;
  }

  private Map<String, Object> error(int status) {
    return error("Problem" + status, titles(status));
  }

  /** Returns a reference to a response that is described once. */
  private Map<String, Object> error(String name, String description) {
    responses.computeIfAbsent(name, _ -> problem(description));
    return Map.of("$ref", "#/components/responses/" + name);
  }

  private static boolean isInPath(Parameter<?> parameter) {
    return parameter.place() == Parameter.Place.PATH;
  }

  // --- routes ---

  private Map<String, Object> paths() {
    var paths = new LinkedHashMap<String, Object>();
    Stream.concat(routes.stream().map(DescribedRoute::of), others.stream())
        .forEach(
            route ->
                item(paths, route.template())
                    .put(route.method().toLowerCase(Locale.ROOT), operation(route)));
    return paths;
  }

  @SuppressWarnings("unchecked") // made here
  private static Map<String, Object> item(Map<String, Object> paths, String template) {
    return (Map<String, Object>)
        paths.computeIfAbsent(template, _ -> new LinkedHashMap<String, Object>());
  }

  private Map<String, Object> operation(DescribedRoute route) {
    Operation operation = route.operation();
    var document = Values.keywords("operationId", operation.id(), "summary", operation.summary());
    if (!operation.parameters().isEmpty()) {
      document.put("parameters", operation.parameters().stream().map(this::parameter).toList());
    }
    operation.body().ifPresent(body -> document.put("requestBody", body(body)));
    var responses = new LinkedHashMap<String, Object>();
    operation
        .answers()
        .forEach((status, answer) -> responses.put(Integer.toString(status), answer(answer)));
    errors(route).forEach(responses::putIfAbsent);
    document.put("responses", responses);
    if (route.isOpen()) {
      document.put("security", List.of());
    } else {
      document.put("x-ebb-roles", Role.namesWith(route.right()));
    }
    return document;
  }

  private Map<String, Object> parameter(Parameter<?> parameter) {
    var document = Values.keywords("name", parameter.name(), "in", parameter.place().wireName());
    if (!parameter.description().isEmpty()) {
      document.put("description", parameter.description());
    }
    if (parameter.isRequired()) {
      document.put("required", true);
    }
    document.put("schema", parameter.schema().describe(components));
    return document;
  }

  private Map<String, Object> body(Operation.Body body) {
    var content = Values.keywords("schema", body.schema().describe(components));
    body.example().ifPresent(example -> content.put("example", example));
    return Values.keywords("required", body.isRequired(), "content", Map.of(body.type(), content));
  }

  private Map<String, Object> answer(Operation.Answer answer) {
    Map<String, Object> document = Values.keywords("description", answer.description());
    return answer.content().isEmpty()
        ? document
        : Schema.with(document, "content", content(answer.content()));
  }

  private Map<String, Object> content(Map<String, Schema> schemas) {
    var content = new LinkedHashMap<String, Object>();
    schemas.forEach(
        (type, schema) -> content.put(type, Map.of("schema", schema.describe(components))));
    return content;
  }
}
