package dev.ebb.server.service.access;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A token bucket that holds the tokens of one second, at least one. Thread-safe. */
final class Bucket {
  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private double tokens = Double.MAX_VALUE;
  private long at;

  /** Takes a token; if there is none, returns how long to wait for the next. */
  synchronized Optional<Duration> take(double rate, long nanos) {
    double most = Math.max(1, rate);
    tokens = tokens > most ? most : Math.min(most, tokens + (nanos - at) * rate / SECOND);
    at = nanos;
    if (tokens >= 1) {
      tokens--;
      return Optional.empty();
    }
    double wait = rate > 0 ? (1 - tokens) / rate : 60;
    return Optional.of(Duration.ofMillis(Math.max(1, Math.round(wait * 1000))));
  }
}
