package dev.ebb.store;

import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.util.List;
import java.util.function.Function;

/** Lines that the owner of a home keeps, and that several processes may change. Thread-safe. */
public interface OwnerLines {
  /** The lines as they are now. */
  List<String> lines() throws IOException;

  /** Differs after every change; asked with every request, so it reads no line. */
  String version() throws IOException;

  /** Gives {@code change} the lines as they are, and keeps them as it leaves them. */
  <T> T change(Function<List<String>, T> change) throws KernelException, IOException;

  /** Where they are kept, for messages. */
  String place();
}
