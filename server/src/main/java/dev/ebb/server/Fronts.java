package dev.ebb.server;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.Reading;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.server.front.FrontSocket;
import dev.ebb.server.metrics.Metrics;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The socket for fronts, if this daemon has one. */
final class Fronts {
  private volatile @Nullable FrontSocket socket;

  /** ORDER: after the listeners, to which commands connect; closed before them. */
  void open(
      Scope scope, Settings settings, Reading descriptors, BaselineWatch baseline, Metrics metrics)
      throws IOException, KernelException {
    var opened =
        FrontSocket.open(settings.socket(), settings.connections(), descriptors.limit(), baseline);
    if (opened.isPresent()) {
      FrontSocket fronts = opened.get();
      scope.own(fronts::close);
      socket = fronts;
    }
    metrics.gauge("ebb_fronts", "Fronts that are connected.", this::connections);
    metrics.counter("ebb_fronts_begun_total", "Fronts that connected.", this::begun);
  }

  int connections() {
    FrontSocket there = socket;
    return there == null ? 0 : there.connections();
  }

  private long begun() {
    FrontSocket there = socket;
    return there == null ? 0 : there.begun();
  }
}
