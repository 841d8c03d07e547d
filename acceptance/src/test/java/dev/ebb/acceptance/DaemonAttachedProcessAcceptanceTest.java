package dev.ebb.acceptance;

import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Attached commands, each in a JVM of its own. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonAttachedProcessAcceptanceTest extends DaemonAttachedAcceptanceTest {
  @RegisterExtension static final Ways WAY = Ways.process();
}
