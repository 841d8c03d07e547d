package dev.ebb.torture.soak;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The settings of a run.
 *
 * @param runs the number of errands in all
 * @param clients the number of errands at once
 * @param openFiles the most descriptors the daemon may have; 0: as many as we
 * @param packages a directory of python packages that some boxes are shown and import
 * @param flags for the daemon
 * @param report a directory for the report
 * @param json the report on stdout is JSON
 */
public record SoakSettings(
    int runs,
    int clients,
    int openFiles,
    Optional<Path> packages,
    List<String> flags,
    Optional<Path> report,
    boolean json) {
  public SoakSettings {
    flags = List.copyOf(flags);
  }
}
