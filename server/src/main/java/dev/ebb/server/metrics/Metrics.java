package dev.ebb.server.metrics;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.core.metrics.SummaryWithCallback;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Quantiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * All metrics of a daemon. Events are counted when they happen; gauges are read when a scraper
 * asks. No label ever holds a value that a tenant chose. Thread-safe.
 */
public final class Metrics {
  /** From a warm box to a box on a busy host. */
  private static final double[] SECONDS = {
    .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300
  };

  private final PrometheusRegistry registry = new PrometheusRegistry();

  private final Histogram create =
      histogram("ebb_box_create_seconds", "From the order of a box until it runs, or has failed.")
          .labelNames("outcome")
          .register(registry);

  private final Histogram exec =
      histogram("ebb_exec_seconds", "From the start of a command until its tree was gone.")
          .labelNames("status")
          .register(registry);

  private final DistributionDataPoint kill =
      histogram("ebb_kill_seconds", "From a kill of a command until its tree was gone.")
          .register(registry);

  private final Histogram gone =
      histogram("ebb_time_to_gone_seconds", "The release of a box, to its certificate.")
          .labelNames("clean")
          .register(registry);

  private final Histogram queue =
      histogram("ebb_queue_wait_seconds", "How long it took to be let in, or refused, for room.")
          .labelNames("outcome")
          .register(registry);

  private final AtomicInteger serving = new AtomicInteger();

  private final Counter refusals =
      counter()
          .name("ebb_refusals_total")
          .help("Requests that were refused, by the code of their problem document.")
          .labelNames("reason")
          .register(registry);

  private final CounterDataPoint requests =
      counter()
          .name("ebb_requests_total")
          .help("Requests over HTTP, whatever became of them.")
          .register(registry);

  /** Exemplars would take a thread, and nothing here has a trace. */
  private static Counter.Builder counter() {
    return Counter.builder().withoutExemplars();
  }

  private static Histogram.Builder histogram(String name, String help) {
    return Histogram.builder()
        .name(name)
        .help(help)
        .withoutExemplars()
        .classicOnly()
        .classicUpperBounds(SECONDS);
  }

  // --- events ---

  /** Counts the making of a box, or its failure. */
  public void created(Duration took, boolean isMade) {
    create.labelValues(isMade ? "made" : "failed").observe(seconds(took));
  }

  /** Counts a command that has ended, by its status. */
  public void ended(String status, Duration took) {
    exec.labelValues(status).observe(seconds(took));
  }

  /** Counts a command that has ended after a kill. */
  public void killed(Duration took) {
    kill.observe(seconds(took));
  }

  /** Counts a box that was released. */
  public void released(Duration took, boolean isClean) {
    gone.labelValues(Boolean.toString(isClean)).observe(seconds(took));
  }

  /** Counts a request for admission, and whether it was admitted. */
  public void queued(Duration took, boolean isLetIn) {
    queue.labelValues(isLetIn ? "begun" : "refused").observe(seconds(took));
  }

  /** Counts a request; {@link #answered} must follow. */
  public void asked() {
    requests.inc();
    serving.incrementAndGet();
  }

  /** Notes that a request was answered, or has failed. */
  public void answered() {
    serving.decrementAndGet();
  }

  /** Returns whether a request is served now. */
  public boolean isServing() {
    return serving.get() > 0;
  }

  /** Returns how many requests there have been. */
  public long requests() {
    return (long) requests.get();
  }

  public void refused(String reason) {
    refusals.labelValues(reason).inc();
  }

  private static double seconds(Duration duration) {
    return (double) duration.toNanos() / TimeUnit.SECONDS.toNanos(1);
  }

  // --- values that are read on demand ---

  /** Registers a gauge. */
  public void gauge(String name, String help, DoubleSupplier now) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(callback -> callback.call(now.getAsDouble()))
        .register(registry);
  }

  /** Registers a gauge for each value of {@code label}. */
  public void gauge(String name, String help, String label, Supplier<Map<String, Double>> now) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames(label)
        .callback(callback -> now.get().forEach((value, number) -> callback.call(number, value)))
        .register(registry);
  }

  /** Registers a counter. */
  public void counter(String name, String help, DoubleSupplier now) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .callback(callback -> callback.call(now.getAsDouble()))
        .register(registry);
  }

  /** Registers a counter for each value of {@code label}. */
  public void counter(String name, String help, String label, Supplier<Map<String, Double>> now) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames(label)
        .callback(callback -> now.get().forEach((value, number) -> callback.call(number, value)))
        .register(registry);
  }

  /** A number of events, and the sum of what was observed. */
  public record Sum(long count, double sum) {}

  /** Registers a summary for each value of {@code label}. */
  public void summary(String name, String help, String label, Supplier<Map<String, Sum>> now) {
    SummaryWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames(label)
        .callback(
            callback ->
                now.get()
                    .forEach(
                        (value, each) ->
                            callback.call(each.count(), each.sum(), Quantiles.EMPTY, value)))
        .register(registry);
  }

  // --- output ---

  /** All metrics, in a format that a scraper accepts. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  public record Page(String type, byte[] text) {}

  /** Returns the page as OpenMetrics, or in Prometheus' text format. */
  public Page page(boolean isOpenMetrics) throws IOException {
    ExpositionFormatWriter writer =
        isOpenMetrics ? OpenMetricsTextFormatWriter.create() : PrometheusTextFormatWriter.create();
    var text = new ByteArrayOutputStream();
    writer.write(text, registry.scrape());
    return new Page(writer.getContentType(), text.toByteArray());
  }
}
