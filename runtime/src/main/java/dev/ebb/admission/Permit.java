package dev.ebb.admission;

/** What was let in, until all that it takes is made, or it failed. Closing it twice is once. */
public interface Permit extends AutoCloseable {
  @Override
  void close();
}
