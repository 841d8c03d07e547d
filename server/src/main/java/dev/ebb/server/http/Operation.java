package dev.ebb.server.http;

import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.access.Right;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The parameters, body and answers of a route, for the OpenAPI document and the parser of requests.
 * Immutable.
 *
 * @param id the name of the method in a generated client
 * @param errors of this route, beside those of all routes
 * @param right that its caller needs, if the method does not tell
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record Operation(
    String id,
    String summary,
    List<Parameter<?>> parameters,
    Optional<Body> body,
    Map<Integer, Answer> answers,
    Set<Problem.Code> errors,
    Optional<Right> right) {
  private static final Schema BYTES = _ -> Values.keywords("type", "string", "format", "binary");

  private static final Schema ANY_OBJECT = _ -> Values.keywords("type", "object");

  /**
   * The body of a request.
   *
   * @param example in JSON
   */
  public record Body(
      String type, Schema schema, boolean isRequired, Optional<Map<String, Object>> example) {}

  /** An answer: its content by media type, which may be empty. */
  public record Answer(String description, Map<String, Schema> content) {}

  public Operation {
    parameters = List.copyOf(parameters);
    errors = Set.copyOf(errors);
  }

  public static Operation of(String id, String summary) {
    return new Operation(
        id, summary, List.of(), Optional.empty(), Map.of(), Set.of(), Optional.empty());
  }

  public Operation with(Parameter<?>... more) {
    var all = new ArrayList<>(parameters);
    all.addAll(List.of(more));
    return new Operation(id, summary, all, body, answers, errors, right);
  }

  // --- what it takes ---

  private Operation body(String type, Schema schema, boolean isRequired) {
    var taken = Optional.of(new Body(type, schema, isRequired, Optional.empty()));
    return new Operation(id, summary, parameters, taken, answers, errors, right);
  }

  public Operation takes(RequestSchema schema) {
    return body("application/json", schema, true);
  }

  /** Takes an object; an absent body counts as an empty object. */
  public Operation mayTake(RequestSchema schema) {
    return body("application/json", schema, false);
  }

  /** Takes any object, which is described elsewhere. */
  public Operation takesObject() {
    return body("application/json", ANY_OBJECT, true);
  }

  /** Adds an example of its body, as names and values. */
  public Operation example(Object... namesAndValues) {
    Body plain = body.orElseThrow(() -> new IllegalStateException(id + " takes no body"));
    var shown =
        new Body(
            plain.type(),
            plain.schema(),
            plain.isRequired(),
            Optional.of(Values.keywords(namesAndValues)));
    return new Operation(id, summary, parameters, Optional.of(shown), answers, errors, right);
  }

  public Operation takesBytes(String type) {
    return body(type, BYTES, false);
  }

  // --- what it answers ---

  public Operation answers(int status, String description) {
    return answer(status, description, Optional.empty(), Values.TEXT);
  }

  public Operation answers(int status, String description, Schema schema) {
    return answer(status, description, Optional.of("application/json"), schema);
  }

  /** Answers any object, which is described elsewhere. */
  public Operation answersObject(int status, String description) {
    return answers(status, description, ANY_OBJECT);
  }

  public Operation answersBytes(String type) {
    return answer(200, "done", Optional.of(type), BYTES);
  }

  /** Answers text of this type on request, in place of the other content of that status. */
  public Operation answersText(int status, String description, String type) {
    return answer(status, description, Optional.of(type), Values.TEXT);
  }

  /** Answers server-sent events on request, in place of other content. */
  public Operation answersEvents() {
    return answersText(200, "done", EventStream.TYPE).fails(Problem.Code.NOT_ACCEPTABLE);
  }

  private Operation answer(int status, String description, Optional<String> type, Schema schema) {
    Answer before = answers.get(status);
    var content = new LinkedHashMap<String, Schema>(before == null ? Map.of() : before.content());
    type.ifPresent(word -> content.put(word, schema));
    var all = new LinkedHashMap<>(answers);
    all.put(status, new Answer(before == null ? description : before.description(), content));
    return new Operation(id, summary, parameters, body, all, errors, right);
  }

  /** Needs this right, whatever its method. */
  public Operation needs(Right needed) {
    return new Operation(id, summary, parameters, body, answers, errors, Optional.of(needed));
  }

  public Operation fails(Problem.Code... codes) {
    var all = new TreeSet<>(errors);
    all.addAll(List.of(codes));
    return new Operation(id, summary, parameters, body, answers, all, right);
  }

  /** Returns the names of its query parameters. */
  Set<String> query() {
    return names(Parameter.Place.QUERY);
  }

  private Set<String> names(Parameter.Place place) {
    return parameters.stream()
        .filter(each -> each.place() == place)
        .map(Parameter::name)
        .collect(Collectors.toSet());
  }

  /** Throws unless its path has exactly the declared parameters. */
  void check(String template) {
    var parts = new TreeSet<String>();
    for (String part : template.split("/")) {
      if (part.startsWith("{")) {
        parts.add(part.substring(1, part.length() - 1));
      }
    }
    if (!parts.equals(names(Parameter.Place.PATH))) {
      throw new IllegalArgumentException(template + " has other parameters than " + id);
    }
  }
}
