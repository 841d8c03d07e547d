package dev.ebb.code;

/** Memory for an answer, until it was sent. */
public interface Room {
  /** Claims so many bytes; returns false if they are not available for a while. */
  boolean hasRoomFor(long bytes) throws InterruptedException;
}
