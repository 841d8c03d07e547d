package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened to a box.
 *
 * @param id continue after this id
 * @param kind box, exec, or gap when events were missed
 * @param box the id of the box; null in a gap
 * @param exec the number of the command, in an event about one
 * @param at the time, as the daemon wrote it
 */
public record BoxEvent(
    String id,
    String kind,
    @Nullable String box,
    @Nullable String name,
    @Nullable Long exec,
    @Nullable String state,
    @Nullable String status,
    @Nullable Integer exitCode,
    @Nullable String at,
    @Nullable String reason,
    JsonObject document) {
  static BoxEvent read(String id, String kind, JsonObject document) throws JsonException {
    return new BoxEvent(
        id,
        kind,
        document.stringOrNull("box"),
        document.stringOrNull("name"),
        document.numberOrNull("exec"),
        document.stringOrNull("state"),
        document.stringOrNull("status"),
        document.integerOrNull("exitCode"),
        document.stringOrNull("at"),
        document.stringOrNull("reason"),
        document);
  }
}
