package dev.ebb.server.http;

import dev.ebb.server.service.access.Caller;
import java.time.Instant;
import java.util.List;

/** The sessions of a door, as its operator sees them. Thread-safe. */
public interface DoorSessions {
  /** Of a door that keeps nothing for its clients. */
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
   * @param id enough of its id to tell it from others, and too little to speak in its name
   * @param client what the client calls itself
   * @param calls how many of its requests are under way
   * @param isListening whether the client has a stream open for what it did not ask for
   * @param boxes the ids of those that end with it
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

  /** Those that a caller may know of. */
  List<Entry> list(Caller caller);

  /** How many there are. */
  int open();

  /** How many there were. */
  long begun();
}
