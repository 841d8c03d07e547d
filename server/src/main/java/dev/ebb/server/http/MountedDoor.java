package dev.ebb.server.http;

import dev.ebb.server.http.RouteTable.Found;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A door with its routes by their paths. Thread-safe. */
final class MountedDoor {
  private final Door door;
  private volatile @Nullable RouteTable routes;

  /** Mounts a door. Conflicting routes fail here, unless the door is loaded later. */
  MountedDoor(Door door) {
    this.door = door;
    if (isLoaded()) {
      routes = new RouteTable(door.routes());
    }
  }

  Door door() {
    return door;
  }

  String name() {
    return door.name();
  }

  private boolean isLoaded() {
    return !(door instanceof ModuleDoor module) || module.isLoaded();
  }

  /** Finds the routes of a path without loading anything. */
  Optional<Found> look(List<String> path) {
    return isLoaded() ? find(path) : Optional.empty();
  }

  /**
   * Finds the routes of a path. RACE: two first callers may each make the table; both tables are
   * right.
   */
  Optional<Found> find(List<String> path) {
    RouteTable table = routes;
    if (table == null) {
      table = new RouteTable(door.routes());
      routes = table;
    }
    return table.find(path);
  }
}
