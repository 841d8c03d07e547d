package dev.ebb.server.http;

import dev.ebb.server.service.access.Caller;
import java.time.Instant;
import java.util.List;

/** The sessions of a door, for the operator. Thread-safe. */
public interface DoorSessions {
  /** Stands for a door without sessions. */
  DoorSessions NONE =
      new DoorSessions() {
        @Override
        public List<Entry> list(Caller caller) {
          return List.of();
        }

        @Override
        public int open() {
          return 0;
        }

        @Override
        public long begun() {
          return 0;
        }
      };

  /**
   * One session.
   *
   * @param id a prefix of its id: long enough to distinguish it, too short to use it
   * @param client the name that the client gave itself
   * @param calls how many of its requests are running
   * @param isListening whether the client has a stream open for messages that answer no request
   * @param boxes the ids of the boxes that end with it
   */
  record Entry(
      String id,
      String tenant,
      String client,
      Instant begunAt,
      int calls,
      boolean isListening,
      List<String> boxes) {
    public Entry {
      boxes = List.copyOf(boxes);
    }
  }

  /** Lists the sessions that a caller may see. */
  List<Entry> list(Caller caller);

  /** Returns how many are open. */
  int open();

  /** Returns how many were begun since the start. */
  long begun();
}
