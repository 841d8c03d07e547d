package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.List;

/**
 * One comparison of the host with the daemon's records.
 *
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Sweep(
    boolean dryRun, Duration duration, long stuck, List<Finding> findings, JsonObject document) {

  /**
   * A difference that the sweep found.
   *
   * @param instance the runtime it belongs to
   * @param fate what the sweep did about it
   * @param reason why; empty where that is plain
   */
  public record Finding(String instance, String kind, String subject, String fate, String reason) {
    static Finding read(JsonObject document) throws JsonException {
      return new Finding(
          document.string("instance"),
          document.string("kind"),
          document.string("subject"),
          document.string("fate"),
          document.string("reason"));
    }
  }

  static Sweep read(JsonObject document) throws JsonException {
    return new Sweep(
        document.isTrue("dryRun"),
        document.millis("durationMillis"),
        document.number("stuck"),
        Documents.list(document.objects("findings"), Finding::read),
        document);
  }
}
