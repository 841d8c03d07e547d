package dev.ebb.torture.host;

import java.nio.file.Path;
import java.util.List;

/**
 * The host on which torture runs.
 *
 * @param script the program {@code ebb}
 * @param home an unshared home, which the caller removes
 * @param environment for {@code ebb}, strings NAME=VALUE
 * @param description what kind of host this is, in a few words
 */
public record Host(Path script, Path home, List<String> environment, String description) {
  public Host {
    environment = List.copyOf(environment);
  }

  public Path socket() {
    return home.resolve("ebb.sock");
  }
}
