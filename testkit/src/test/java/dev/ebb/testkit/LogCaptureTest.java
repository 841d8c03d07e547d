package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.System.Logger.Level;
import org.junit.jupiter.api.Test;

class LogCaptureTest {
  private static final System.Logger LOG = System.getLogger(LogCaptureTest.class.getName());

  @Test
  void whatIsLoggedWhileItIsOpenIsThereWithLevelValuesAndException() {
    try (var capture = new LogCapture(LogCaptureTest.class)) {
      LOG.log(Level.WARNING, "event=test path={0} count={1}", "/tmp/it''s", 2);
      LOG.log(Level.ERROR, "event=failed", new IllegalStateException("why"));
      LOG.log(Level.DEBUG, "not said");
      assertThat(capture.lines())
          .containsExactly(
              "WARNING event=test path=/tmp/it''s count=2",
              "SEVERE event=failed java.lang.IllegalStateException: why");
    }
  }

  @Test
  void whatIsLoggedAfterwardsOrByOthersIsNot() {
    var capture = new LogCapture(LogCaptureTest.class);
    System.getLogger("another").log(Level.DEBUG, "another's");
    capture.close();
    LOG.log(Level.INFO, "event=expected_on_the_console");
    assertThat(capture.lines()).isEmpty();
  }
}
