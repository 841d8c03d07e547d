package dev.ebb.acceptance;

import java.util.Map;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The two ways in which a command runs: in the daemon, as everywhere, or in a JVM of its own, in a
 * test class that registers this.
 */
final class Ways implements BeforeAllCallback, AfterAllCallback {
  /** One class at a time runs in a JVM. */
  private static volatile boolean isInDaemon = true;

  private Ways() {}

  /** All commands of the class have a process of their own. */
  static Ways process() {
    return new Ways();
  }

  static void addTo(Map<String, String> environment) {
    if (!isInDaemon) {
      environment.put("EBB_FRONT", "never");
    }
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    isInDaemon = false;
  }

  @Override
  public void afterAll(ExtensionContext context) {
    isInDaemon = true;
  }
}
