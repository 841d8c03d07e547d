package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Converts between records and JSON documents. */
final class Documents {
  private Documents() {}

  /** Reads one document. */
  interface Reading<T> {
    T read(JsonObject document) throws JsonException;
  }

  static <T> List<T> list(List<JsonObject> documents, Reading<T> reading) throws JsonException {
    var list = new ArrayList<T>(documents.size());
    for (JsonObject document : documents) {
      list.add(reading.read(document));
    }
    return Collections.unmodifiableList(list);
  }

  static <T> @Nullable T orNull(@Nullable JsonObject document, Reading<T> reading)
      throws JsonException {
    return document == null ? null : reading.read(document);
  }

  static JsonException bad(String message) {
    return new JsonException(message);
  }

  static @Nullable Long millis(@Nullable Duration duration) {
    return duration == null ? null : Long.valueOf(duration.toMillis());
  }

  static @Nullable Long number(@Nullable Integer number) {
    return number == null ? null : Long.valueOf(number.longValue());
  }

  private static final String ALLOW = "allow=";

  /** Converts a network setting to JSON: a string, or an object with the allowed names. */
  static @Nullable Object network(@Nullable String words) {
    if (words == null || !words.startsWith(ALLOW)) {
      return words;
    }
    return JsonObject.empty()
        .with("allow", List.of(words.substring(ALLOW.length()).split(",", -1)));
  }

  /** Converts a network setting from JSON. */
  static String network(JsonObject document) throws JsonException {
    return document.members().get("network") instanceof JsonObject network
        ? ALLOW + String.join(",", network.strings("allow"))
        : document.string("network");
  }

  /** Returns null for an empty list, so that the field is left out. */
  static @Nullable Object unlessEmpty(List<?> list) {
    return list.isEmpty() ? null : list;
  }

  static @Nullable Object unlessEmpty(JsonObject object) {
    return object.members().isEmpty() ? null : object;
  }
}
