package dev.ebb.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private final Metrics metrics = new Metrics();

  private String text() throws IOException {
    return new String(metrics.page(false).text(), StandardCharsets.UTF_8);
  }

  @Test
  void eventsAreCounted() throws IOException {
    metrics.created(Duration.ofMillis(15), true);
    metrics.ended("exited", Duration.ofMillis(3));
    metrics.killed(Duration.ofSeconds(1));
    metrics.released(Duration.ofMillis(6), false);
    metrics.asked();
    metrics.refused("draining");
    assertThat(text().lines())
        .contains(
            "ebb_box_create_seconds_bucket{outcome=\"made\",le=\"0.01\"} 0",
            "ebb_box_create_seconds_bucket{outcome=\"made\",le=\"0.02\"} 1",
            "ebb_exec_seconds_count{status=\"exited\"} 1",
            "ebb_kill_seconds_sum 1.0",
            "ebb_time_to_gone_seconds_count{clean=\"false\"} 1",
            "ebb_requests_total 1.0",
            "ebb_refusals_total{reason=\"draining\"} 1.0");
  }

  @Test
  void gaugesAreReadWhenAScraperAsks() throws IOException {
    double[] now = {1};
    metrics.gauge("ebb_things", "Things.", () -> now[0]);
    metrics.counter("ebb_found_total", "Found.", "kind", () -> Map.of("file", now[0]));
    now[0] = 7;
    assertThat(text().lines()).contains("ebb_things 7.0", "ebb_found_total{kind=\"file\"} 7.0");
  }

  @Test
  void theFormIsWhatTheScraperAsksFor() throws IOException {
    assertThat(metrics.page(false).type()).startsWith("text/plain; version=0.0.4");
    var open = metrics.page(true);
    assertThat(open.type()).startsWith("application/openmetrics-text");
    assertThat(new String(open.text(), StandardCharsets.UTF_8)).endsWith("# EOF\n");
  }
}
