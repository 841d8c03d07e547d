package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Two tenants of one daemon, over TCP: A floods it, B runs {@code true} in boxes of its own and
 * takes the time. B's p99 under the flood must stay within three times its p99 on the idle daemon.
 *
 * <pre>
 * var tenants = new TenantFlood(daemon);
 * tenants.attack("runs", 16, a -&gt; a.run(TenantFlood.SMALL, ExecRequest.of("true")));
 * </pre>
 */
final class TenantFlood {
  static final BoxRequest SMALL =
      BoxRequest.defaults().withLimits(new Limits(64L << 20, 32, null, null));

  private static final int PROBES = 100;
  private static final int WARM_UP = 10;
  private static final int MOST_TIMES = 3;

  /** An idle p99 below it is taken as this: the scheduler alone moves it by that much. */
  private static final long NOISE_NANOS = TestHost.patience(Duration.ofMillis(100)).toNanos();

  /** One hit of the flood; each thread repeats it until the measurement is over. */
  interface Hit {
    void on(EbbClient a) throws IOException, InterruptedException;
  }

  /** Times of B, in nanoseconds. */
  record Times(long p50, long p99) {
    static Times of(long[] nanos) {
      long[] sorted = nanos.clone();
      Arrays.sort(sorted);
      return new Times(sorted[(sorted.length - 1) / 2], sorted[(sorted.length * 99 - 1) / 100]);
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%.1f/%.1f ms", p50 / 1e6, p99 / 1e6);
    }
  }

  private final DaemonProcess daemon;
  private final String keyOfA;
  private final EbbClient b;

  TenantFlood(DaemonProcess daemon) throws IOException, InterruptedException {
    this.daemon = daemon;
    keyOfA = daemon.key("--tenant", "a");
    b = daemon.client(daemon.key("--tenant", "b"));
  }

  /** For a flood that does not use the client. */
  String keyOfA() {
    return keyOfA;
  }

  EbbClient b() {
    return b;
  }

  /**
   * Measures B on the idle daemon and under the flood, prints one line, and fails if B's p99 is
   * more than three times as long under the flood.
   *
   * <p>The daemon may refuse a hit: an {@link EbbException} or a broken connection counts as one,
   * too. Anything else fails the test.
   */
  void attack(String name, int threads, Hit hit) throws IOException, InterruptedException {
    measure(WARM_UP);
    Times idle = measure(PROBES);
    Times flooded = flooded(threads, hit);
    report(name, idle, flooded);
  }

  /** The part of {@link #attack} for a flood that the caller started itself. */
  void report(String name, Times idle, Times flooded) {
    double ratio = (double) flooded.p99() / Math.max(idle.p99(), NOISE_NANOS);
    System.out.printf(
        Locale.ROOT,
        "attack: %s: B idle p50/p99 %s, under flood p50/p99 %s, ratio %.2f%n",
        name,
        idle,
        flooded,
        (double) flooded.p99() / idle.p99());
    assertThat(ratio)
        .as("%s: B's p99 under the flood (%s) to idle (%s)", name, flooded, idle)
        .isLessThanOrEqualTo(MOST_TIMES);
  }

  Times measure() throws IOException {
    return measure(PROBES);
  }

  private Times measure(int probes) throws IOException {
    var nanos = new long[probes];
    for (int i = 0; i < probes; i++) {
      long begun = System.nanoTime();
      var result = b.run(SMALL, ExecRequest.of("true"));
      nanos[i] = System.nanoTime() - begun;
      assertThat(result.exec().exitCode()).isZero();
    }
    return Times.of(nanos);
  }

  private Times flooded(int threads, Hit hit) throws IOException, InterruptedException {
    var over = new AtomicBoolean();
    var hits = new AtomicLong();
    var failure = new AtomicReference<@Nullable Throwable>();
    var flood = new ArrayList<Thread>();
    for (int i = 0; i < threads; i++) {
      EbbClient a = daemon.client(keyOfA);
      flood.add(
          Thread.ofPlatform().name("flood-" + i).start(() -> hit(hit, a, over, hits, failure)));
    }
    try {
      await().atMost(DaemonProcess.PATIENCE).until(() -> hits.get() >= threads || failed(failure));
      Times times = measure();
      assertThat(failure.get()).as("the flood itself").isNull();
      return times;
    } finally {
      over.set(true);
      join(flood);
    }
  }

  private static boolean failed(AtomicReference<@Nullable Throwable> failure) {
    return failure.get() != null;
  }

  private static void hit(
      Hit hit,
      EbbClient a,
      AtomicBoolean over,
      AtomicLong hits,
      AtomicReference<@Nullable Throwable> failure) {
    while (!over.get()) {
      try {
        hit.on(a);
      } catch (IOException e) {
        // Refused, or cut off: that is the daemon's right, and A goes on.
      } catch (InterruptedException | RuntimeException | AssertionError e) {
        failure.compareAndSet(null, e);
        return;
      }
      hits.incrementAndGet();
    }
  }

  private static void join(List<Thread> threads) throws InterruptedException {
    for (Thread thread : threads) {
      assertThat(thread.join(DaemonProcess.PATIENCE)).as(thread.getName() + " ends").isTrue();
    }
  }
}
