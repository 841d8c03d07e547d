package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One tenant has as many boxes as it can get, each with its own uid; another tenant makes one. */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(1200)
final class UidFloodAttackTest {
  private static final int AT_ONCE = 16;

  /** Between two more attempts of A: what refusals at full speed do is another test's. */
  private static final Duration PAUSE = Duration.ofMillis(20);

  /** So many uids has a daemon, and the last eighth is for tenants with few boxes. */
  private static final int UIDS = 1024;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          () -> {
            TestHost.require(Feature.ROOT);
            return List.of();
          },
          Map.of());

  @Test
  void boxesOfOneTenantDoNotTakeTheUidsOfAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    tenants.attack("host uids", TenantFlood.RUN, 1, () -> fill(tenants));
  }

  /** Creates boxes until one is refused, and goes on trying. */
  private AutoCloseable fill(TenantFlood tenants) throws Exception {
    EbbClient a = tenants.a();
    var made = new AtomicInteger();
    var wrong = new AtomicReference<String>("");
    var filling =
        tenants.hits(
            AT_ONCE,
            each -> {
              for (boolean isFull = false; !isFull; ) {
                try {
                  var _ = each.boxes().create(TenantFlood.SMALL);
                  isFull = made.incrementAndGet() > UIDS;
                } catch (EbbException e) {
                  isFull = e.status() == 429;
                  wrong.compareAndSet("", isFull ? "" : e.status() + " " + e.detail());
                }
              }
            });
    filling.close();
    System.out.println("attack: host uids: A has " + made + " boxes");
    assertThat(wrong.get()).isEmpty();
    AutoCloseable trying =
        tenants.hits(
            1,
            each -> {
              Thread.sleep(PAUSE);
              each.boxes().create(TenantFlood.SMALL);
            });
    return () -> {
      trying.close();
      assertThat(made.get()).isBetween(UIDS / 2, UIDS - UIDS / 8);
      EgressFloodAttackTest.removeAll(a);
    };
  }
}
