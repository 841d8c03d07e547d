package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * A host resource that a box holds.
 *
 * @param pid of a process, like that of its parent, on the host
 * @param state of a process: the letter that ps(1) prints
 * @param exec the command that a process belongs to; init belongs to none
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Holding(
    String kind,
    String subject,
    @Nullable String detail,
    @Nullable Long pid,
    @Nullable Long parent,
    @Nullable String state,
    @Nullable Long exec,
    JsonObject document) {
  static Holding read(JsonObject document) throws JsonException {
    return new Holding(
        document.string("kind"),
        document.string("subject"),
        document.stringOrNull("detail"),
        document.numberOrNull("pid"),
        document.numberOrNull("parent"),
        document.stringOrNull("state"),
        document.numberOrNull("exec"),
        document);
  }
}
