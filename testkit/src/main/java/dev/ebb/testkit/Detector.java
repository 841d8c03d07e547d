package dev.ebb.testkit;

import java.io.IOException;
import java.util.List;

/** Looks for one kind of thing that can leak. */
@FunctionalInterface
interface Detector {
  List<Trace> look(ProcessTable processes) throws IOException;
}
