package dev.ebb.acceptance;

import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One tenant runs as many commands as it can; another tenant runs one. */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class RunFloodAttackTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  @Test
  void runsOfOneTenantDoNotDelayThoseOfAnother() throws Exception {
    new TenantFlood(daemon)
        .attack("runs", 8, a -> a.run(TenantFlood.SMALL, ExecRequest.of("sleep", "0.2")));
  }

  @Test
  void refusedRequestsOfOneTenantDoNotDelayThoseOfAnother() throws Exception {
    new TenantFlood(daemon)
        .attack("refused requests", 2, a -> a.execs("none").start(ExecRequest.of("true")));
  }
}
