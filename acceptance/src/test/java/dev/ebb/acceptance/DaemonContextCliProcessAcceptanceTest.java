package dev.ebb.acceptance;

import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Contexts by the command, each in a JVM of its own. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonContextCliProcessAcceptanceTest extends DaemonContextCliAcceptanceTest {
  @RegisterExtension static final Ways WAY = Ways.process();
}
