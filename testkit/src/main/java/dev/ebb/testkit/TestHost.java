package dev.ebb.testkit;

import java.nio.file.Path;

/** The machine and the clone that the tests run on. */
public final class TestHost {
  private TestHost() {}

  /** The root of the clone, where {@code ./ebb} is. */
  public static Path root() {
    return Path.of(System.getProperty("ebb.root", "..")).toAbsolutePath().normalize();
  }
}
