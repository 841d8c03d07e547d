package dev.ebb.server.http;

import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Policy;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A protocol by which clients use the daemon. It brings its routes, says where a request carries
 * its key, which hosts and origins it accepts, and how an error looks; the {@link Dispatcher} does
 * the rest for all doors. Thread-safe.
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public interface Door {
  /** A word for logs and messages, and the directory of its jars if it is a module of its own. */
  String name();

  /** Where requests find it; of several mounts that match, the longest counts. */
  Set<Mount> mounts();

  /** Where a request carries the key that lets it in. */
  KeyPlace key();

  /** The caller behind a secret that the door itself gave out, such as the cookie of a login. */
  default Optional<Caller> vouched(Asked asked) {
    return Optional.empty();
  }

  /** Whether it is called by this name as well, beside the server's names and its own mounts. */
  default boolean acceptsHost(Asked asked) {
    return false;
  }

  /** Whether web pages of this origin may use it. */
  default boolean acceptsOrigin(String origin, Asked asked) {
    return false;
  }

  /** How its errors look. */
  default ErrorForm errors() {
    return ErrorForm.PROBLEM_JSON;
  }

  /** Whether query parameters that a route does not know are ignored instead of refused. */
  default boolean toleratesQueries() {
    return false;
  }

  /** All that it answers; asked for once. */
  List<Route> routes();

  /** The clients that it keeps something for. */
  default DoorSessions sessions() {
    return DoorSessions.NONE;
  }

  /**
   * What a door works with.
   *
   * @param sessions what its sessions may have, if it has any
   * @param clock of this process: it stands still while the process does not run, and tells no date
   * @param version of the daemon
   */
  record House(
      BoxRegistry boxes,
      Policy policy,
      SessionLimits sessions,
      InstantSource clock,
      String version) {}

  /** Makes the door of a module, see {@link ModuleDoor}. */
  interface Provider {
    Door open(House house);
  }
}
