package dev.ebb.admission;

/**
 * An admitted cost, held until everything is made, or making failed. Closing it again has no
 * effect.
 */
public interface Permit extends AutoCloseable {
  @Override
  void close();
}
