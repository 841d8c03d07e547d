package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How near a daemon is to its limits.
 *
 * @param level ok, warn, alert or full: that of the worst gauge
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Pressure(String level, List<Gauge> gauges, JsonObject document) {
  /**
   * A resource that a host can run out of.
   *
   * @param limit null where there is none
   * @param source where the limit comes from
   */
  public record Gauge(
      String resource,
      long use,
      @Nullable Long limit,
      String source,
      @Nullable Double percent,
      String level) {
    static Gauge read(JsonObject document) throws JsonException {
      return new Gauge(
          document.string("resource"),
          document.number("use"),
          document.numberOrNull("limit"),
          document.string("source"),
          document.decimalOrNull("percent"),
          document.string("level"));
    }
  }

  static Pressure read(JsonObject document) throws JsonException {
    return new Pressure(
        document.string("level"),
        Documents.list(document.objects("gauges"), Gauge::read),
        document);
  }
}
