package dev.ebb.oracle;

import java.io.IOException;
import java.util.List;

/** Looks for one kind of thing that can leak. */
@FunctionalInterface
public interface Detector {
  List<Trace> look(ProcessTable processes) throws IOException;
}
