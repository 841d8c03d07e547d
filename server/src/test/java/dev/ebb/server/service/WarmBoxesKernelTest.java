package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.PoolState;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A waiting box, and requests that have to wait for room. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class WarmBoxesKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  /** Admits no request. */
  private static final AdmissionControl SHUT =
      new AdmissionControl() {
        @Override
        public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) {
          throw new SandboxException(ErrorCode.PRESSURE, "no room");
        }

        @Override
        public int fitting(Cost each, int part) {
          return 0;
        }

        @Override
        public SandboxException explain(SandboxException failure, Instant begun) {
          return failure;
        }
      };

  @Test
  void aRefusedRequestTakesNoBoxFromThePool() throws Exception {
    var policy = new PoolPolicy(1, 1, PoolPolicy.DEFAULT_AGE, Map.of(), List.of());
    var quotas = new Quotas(host.home(), Quota.NONE);
    try (var engine = Engine.open(host.home());
        var boxes = new BoxRegistry(engine, new Metrics(), SHUT, quotas, policy)) {
      await().atMost(PATIENCE).until(() -> plain(boxes).size() == 1);
      for (var key : List.of(Optional.<BoxRegistry.Idempotency>empty(), once())) {
        var refusal =
            catchThrowableOfType(
                SandboxException.class,
                () -> boxes.create(Caller.OWNER, BoxOrder.of(BoxSpec.defaults()), key));
        assertThat(refusal.code()).isEqualTo(ErrorCode.PRESSURE);
      }
      assertThat(plain(boxes).hits()).isZero();
      assertThat(plain(boxes).size()).isEqualTo(1);
      assertThat(boxes.pool().state().destroyed()).isEmpty();
    }
  }

  private static Optional<BoxRegistry.Idempotency> once() {
    return Optional.of(new BoxRegistry.Idempotency("key", "digest"));
  }

  private static PoolState.Kind plain(BoxRegistry boxes) {
    return boxes.pool().state().kinds().getFirst();
  }
}
