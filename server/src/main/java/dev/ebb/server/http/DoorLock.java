package dev.ebb.server.http;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.util.concurrent.locks.Lock;

/**
 * The locks that a door may have. A thread that holds one may take only those below it, and those
 * of the services; with assertions enabled, any other order throws.
 */
public enum DoorLock {
  /** For what is known of one client. Held for computing only. */
  SESSION(LockOrder.DOOR_SESSION),
  /** For one request of a client. Held for computing only. */
  CALL(LockOrder.DOOR_CALL),
  /** For what is written to one client. May be held while that client is waited for. */
  STREAM(LockOrder.DOOR_STREAM);

  private final LockOrder place;

  DoorLock(LockOrder place) {
    this.place = place;
  }

  /** A new lock of this place. */
  public Lock make() {
    return new OrderedLock(place);
  }
}
