package dev.ebb.server.front;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The exact build of the dist that this daemon was started from; a front reads the same file. */
final class DistBuild {
  private DistBuild() {}

  /** Empty outside of a dist. */
  static Optional<String> read() {
    try {
      var here = DistBuild.class.getProtectionDomain().getCodeSource().getLocation();
      Path file = Path.of(here.toURI()).resolveSibling("../build").normalize();
      return Files.isRegularFile(file)
          ? Optional.of(Files.readString(file).strip())
          : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
