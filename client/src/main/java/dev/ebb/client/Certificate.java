package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The proof that a box is gone: what it held, what was observed to be gone, and what is stuck.
 *
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Certificate(
    String subject,
    Map<String, Long> held,
    Map<String, Long> released,
    List<Stuck> stuck,
    boolean clean,
    Duration duration,
    JsonObject document) {

  /** Something that could not be released, and why. */
  public record Stuck(String kind, String subject, String reason) {
    static Stuck read(JsonObject document) throws JsonException {
      return new Stuck(
          document.string("kind"), document.string("subject"), document.string("reason"));
    }

    @Override
    public String toString() {
      return kind + " " + subject + ": " + reason;
    }
  }

  static Certificate read(JsonObject document) throws JsonException {
    return new Certificate(
        document.string("subject"),
        document.numberMap("held"),
        document.numberMap("released"),
        Documents.list(document.objects("stuck"), Stuck::read),
        document.isTrue("clean"),
        document.millis("durationMillis"),
        document);
  }

  @Override
  public String toString() {
    String gone =
        released.entrySet().stream()
            .map(each -> each.getKey() + " " + each.getValue())
            .collect(Collectors.joining(", "));
    String left =
        clean
            ? "nothing left"
            : "stuck: " + stuck.stream().map(Stuck::toString).collect(Collectors.joining("; "));
    String released = gone.isEmpty() ? "nothing" : gone;
    return subject + ": released " + released + " in " + duration.toMillis() + " ms; " + left;
  }
}
