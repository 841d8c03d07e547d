package dev.ebb.code;

/** Memory for what is to be answered, until that has happened. */
public interface Room {
  /** Takes so many bytes; false when there is no room for them, for a while. */
  boolean hasRoomFor(long bytes) throws InterruptedException;
}
