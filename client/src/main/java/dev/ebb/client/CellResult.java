package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of a cell.
 *
 * @param outcome {@code ok}, {@code error} (it threw), {@code failed} (its exit code is not 0),
 *     {@code interrupted}, {@code timed-out}, {@code died}, {@code broken}, {@code output-lost} or
 *     {@code cancelled}
 * @param state of the context afterwards
 * @param exitCode set for bash only
 * @param stdout its first MiB; empty if the cell was followed
 * @param result the value of its last expression, in its forms, by their types
 * @param displays what else it showed
 * @param cause how the interpreter ended, if it did
 * @param lost output that could not be stored, if any
 * @param document as the daemon sent it
 */
public record CellResult(
    long number,
    String outcome,
    String state,
    @Nullable Integer exitCode,
    Output stdout,
    Output stderr,
    Map<String, Output> result,
    List<Map<String, Output>> displays,
    @Nullable Thrown error,
    @Nullable Cause cause,
    boolean truncated,
    @Nullable Lost lost,
    Duration duration,
    JsonObject document) {

  /** An exception. */
  public record Thrown(String name, String value, String traceback) {
    private static Thrown read(JsonObject document) throws JsonException {
      return new Thrown(
          document.string("name"), document.string("value"), document.string("traceback"));
    }
  }

  static CellResult read(JsonObject document) throws JsonException {
    JsonObject result = document.objectOrNull("result");
    List<JsonObject> displays =
        document.has("displays") ? document.objects("displays") : Collections.emptyList();
    return new CellResult(
        document.number("number"),
        document.string("outcome"),
        document.string("state"),
        document.integerOrNull("exitCode"),
        Output.read(document.objectOrNull("stdout")),
        Output.read(document.objectOrNull("stderr")),
        result == null ? Collections.emptyMap() : forms(result),
        Documents.list(displays, CellResult::forms),
        Documents.orNull(document.objectOrNull("error"), Thrown::read),
        Documents.orNull(document.objectOrNull("cause"), Cause::read),
        document.isTrue("truncated"),
        Documents.orNull(document.objectOrNull("lost"), Lost::read),
        Duration.ofMillis(document.number("durationMillis")),
        document);
  }

  /** Reads the forms of a shown value, by their media types. */
  static Map<String, Output> forms(JsonObject document) throws JsonException {
    var forms = new LinkedHashMap<String, Output>();
    for (String type : new ArrayList<>(document.members().keySet())) {
      forms.put(type, Output.read(document.object(type)));
    }
    return Collections.unmodifiableMap(forms);
  }

  public boolean isOk() {
    return outcome.equals("ok");
  }
}
