package dev.ebb.kernel;

/** Something that must be given back. Closing twice does nothing the second time. */
public interface Owned {
  void close() throws KernelException;
}
