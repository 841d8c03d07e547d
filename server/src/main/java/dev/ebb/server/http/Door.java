package dev.ebb.server.http;

import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Policy;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A protocol by which clients use the daemon. A door defines its routes, the place of the key in a
 * request, the hosts and origins it accepts, and the form of an error; the {@link Dispatcher} does
 * the rest for all doors. Thread-safe.
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public interface Door {
  /**
   * Returns the name for logs and messages, and of the directory of its jars if it is a module of
   * its own.
   */
  String name();

  /** Returns where the door is reached; of several mounts that match, the longest wins. */
  Set<Mount> mounts();

  /** Returns where a request carries its key. */
  KeyPlace key();

  /** Returns the caller for a secret that the door itself issued, such as the cookie of a login. */
  default Optional<Caller> vouched(Asked asked) {
    return Optional.empty();
  }

  /**
   * Returns whether the door accepts this host name, beside the server's names and its own mounts.
   */
  default boolean acceptsHost(Asked asked) {
    return false;
  }

  /** Returns whether web pages of this origin may use the door. */
  default boolean acceptsOrigin(String origin, Asked asked) {
    return false;
  }

  /** Returns the form of its errors. */
  default ErrorForm errors() {
    return ErrorForm.PROBLEM_JSON;
  }

  /** Returns whether unknown query parameters are ignored instead of refused. */
  default boolean toleratesQueries() {
    return false;
  }

  /** Returns all its routes; called once. */
  List<Route> routes();

  /** Returns the sessions that it keeps for clients. */
  default DoorSessions sessions() {
    return DoorSessions.NONE;
  }

  /**
   * The parts of the daemon that a door works with.
   *
   * @param sessions the limits of its sessions, if it has any
   * @param clock of this process: it stands still while the process does not run, and does not show
   *     dates
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
