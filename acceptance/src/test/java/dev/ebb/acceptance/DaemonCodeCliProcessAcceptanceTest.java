package dev.ebb.acceptance;

import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Code by the command, each in a JVM of its own. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonCodeCliProcessAcceptanceTest extends DaemonCodeCliAcceptanceTest {
  @RegisterExtension static final Ways WAY = Ways.process();
}
