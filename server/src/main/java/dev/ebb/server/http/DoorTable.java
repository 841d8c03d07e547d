package dev.ebb.server.http;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Finds a door by host and path, in at most two lookups for the host and one step for each part of
 * the path. Immutable.
 */
final class DoorTable {
  private final Map<String, Node> hosts = new HashMap<>();
  private final Node anyHost = new Node();

  /** One path: the door mounted there, and longer paths. */
  private static final class Node {
    private final Map<String, Node> parts = new HashMap<>();
    private @Nullable MountedDoor door;
  }

  /**
   * The door that answers a request.
   *
   * @param byHost whether its mount names the host of the request
   */
  record Found(MountedDoor door, boolean byHost) {}

  DoorTable(List<? extends Door> doors) {
    for (Door door : doors) {
      var mounted = new MountedDoor(door);
      door.mounts().forEach(mount -> add(mount, mounted));
    }
  }

  private void add(Mount mount, MountedDoor door) {
    Node node =
        mount.host().isEmpty() ? anyHost : hosts.computeIfAbsent(mount.host(), _ -> new Node());
    for (String part : mount.path()) {
      node = node.parts.computeIfAbsent(part, _ -> new Node());
    }
    if (node.door != null) {
      throw new IllegalArgumentException(
          "%s and %s are both mounted at %s/%s"
              .formatted(
                  node.door.name(), door.name(), mount.host(), String.join("/", mount.path())));
    }
    node.door = door;
  }

  /**
   * Finds the door for a request. A mount at this host wins over one at any host; then the longest
   * path wins.
   */
  Optional<Found> find(String host, List<String> path) {
    return at(hosts.get(host), path)
        .or(() -> at(hosts.get(wildcard(host)), path))
        .map(door -> new Found(door, true))
        .or(() -> at(anyHost, path).map(door -> new Found(door, false)));
  }

  private static String wildcard(String host) {
    int dot = host.indexOf('.');
    return dot < 0 ? host : "*" + host.substring(dot);
  }

  private static Optional<MountedDoor> at(@Nullable Node start, List<String> path) {
    Node node = start;
    MountedDoor last = node == null ? null : node.door;
    for (int i = 0; node != null && i < path.size(); i++) {
      node = node.parts.get(path.get(i));
      last = node == null || node.door == null ? last : node.door;
    }
    return Optional.ofNullable(last);
  }
}
