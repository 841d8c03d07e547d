package dev.ebb.server.service;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.model.BoxSpec;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.testkit.TestHost;
import java.util.Map;
import java.util.Optional;

/** Opens registries without quotas, pool and admission control, and orders boxes of them. */
final class TestRegistry {
  private TestRegistry() {}

  static BoxRegistry open(Engine engine, TestHost host) throws Exception {
    return open(engine, host, BoxRegistry.HISTORY);
  }

  static BoxRegistry open(Engine engine, TestHost host, History history) throws Exception {
    return new BoxRegistry(
        engine,
        history,
        new Metrics(),
        AdmissionControl.OPEN,
        new Quotas(host.home(), Quota.NONE),
        PoolPolicy.OFF);
  }

  static BoxOrder order(Optional<String> name, boolean detached) {
    return new BoxOrder(
        name, Map.of(), BoxSpec.defaults(), Optional.empty(), Optional.empty(), detached, false);
  }
}
