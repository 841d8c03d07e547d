package dev.ebb.server.http;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.util.concurrent.locks.Lock;

/**
 * The locks that a door may have. A thread that holds one may take only those below it, and those
 * of the services; with assertions enabled, any other order throws.
 */
public enum DoorLock {
  /** Guards the state of one client. Held for computing only. */
  SESSION(LockOrder.DOOR_SESSION),
  /** Guards one request of a client. Held for computing only. */
  CALL(LockOrder.DOOR_CALL),
  /** Guards writes to one client. May be held while waiting for that client. */
  STREAM(LockOrder.DOOR_STREAM);

  private final LockOrder place;

  DoorLock(LockOrder place) {
    this.place = place;
  }

  /** Makes a lock of this rank. */
  public Lock make() {
    return new OrderedLock(place);
  }
}
