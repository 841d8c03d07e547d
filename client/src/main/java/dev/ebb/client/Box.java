package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A box as the daemon described it.
 *
 * @param network none, host, or allow= and names with a comma between each two
 * @param backend that made it; null if unknown
 * @param endedBy request, ttl, idle, drain, pressure, died, or daemon if its daemon died
 * @param holdings empty unless the box was inspected
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Box(
    String id,
    @Nullable String name,
    String tenant,
    BoxState state,
    Map<String, String> labels,
    Limits limits,
    String network,
    List<Mount> mounts,
    List<String> packages,
    @Nullable String backend,
    @Nullable Duration ttl,
    @Nullable Duration idleTimeout,
    Instant createdAt,
    @Nullable Instant expiresAt,
    @Nullable Instant endedAt,
    @Nullable String endedBy,
    long runningExecs,
    @Nullable Certificate certificate,
    List<Holding> holdings,
    JsonObject document) {

  static Box read(JsonObject document) throws JsonException {
    return new Box(
        document.string("id"),
        document.stringOrNull("name"),
        document.string("tenant"),
        BoxState.of(document.string("state")),
        document.stringMap("labels"),
        Limits.read(document.object("limits")),
        Documents.network(document),
        Documents.list(document.objects("mounts"), Mount::read),
        document.strings("packages"),
        document.stringOrNull("backend"),
        document.millisOrNull("ttlMillis"),
        document.millisOrNull("idleTimeoutMillis"),
        document.instant("createdAt"),
        document.instantOrNull("expiresAt"),
        document.instantOrNull("endedAt"),
        document.stringOrNull("endedBy"),
        document.count("runningExecs"),
        Documents.orNull(document.objectOrNull("certificate"), Certificate::read),
        Documents.list(document.objects("holdings"), Holding::read),
        document);
  }
}
