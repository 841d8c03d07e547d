package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A stateful interpreter of a box, as the daemon described it.
 *
 * @param id unique in the box; works like the name, if it has one
 * @param state starting, idle, busy or ended
 * @param exec the number of the command that runs the interpreter
 * @param status how it ended, as a wire name
 * @param cause of its end
 * @param broken how it broke the protocol, if it was ended for that
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Context(
    String id,
    @Nullable String name,
    String box,
    String language,
    String state,
    long exec,
    Instant createdAt,
    @Nullable String status,
    @Nullable Cause cause,
    @Nullable String broken,
    JsonObject document) {

  static Context read(JsonObject document) throws JsonException {
    return new Context(
        document.string("id"),
        document.stringOrNull("name"),
        document.string("box"),
        document.string("language"),
        document.string("state"),
        document.number("exec"),
        document.instant("createdAt"),
        document.stringOrNull("status"),
        Documents.orNull(document.objectOrNull("cause"), Cause::read),
        document.stringOrNull("broken"),
        document);
  }

  public boolean hasEnded() {
    return state.equals("ended");
  }
}
