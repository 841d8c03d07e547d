package dev.ebb.store;

import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.util.List;
import java.util.function.Function;

/** Lines of the owner of a home, which several processes may change. Thread-safe. */
public interface OwnerLines {
  /** Returns the current lines. */
  List<String> lines() throws IOException;

  /**
   * Returns a value that differs after every change. It is called with every request, so it reads
   * no line.
   */
  String version() throws IOException;

  /** Passes the current lines to {@code change}, and stores its result. */
  <T> T change(Function<List<String>, T> change) throws KernelException, IOException;

  /** Returns the place of the lines, for messages. */
  String place();
}
