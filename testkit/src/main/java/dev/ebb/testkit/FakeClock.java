package dev.ebb.testkit;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;

/** A clock that stands still until a test advances it. Thread-safe. */
public final class FakeClock implements InstantSource {
  private final AtomicReference<Instant> now;

  public FakeClock() {
    this(Instant.parse("2026-01-01T00:00:00Z"));
  }

  public FakeClock(Instant start) {
    now = new AtomicReference<>(start);
  }

  public void advance(Duration duration) {
    now.updateAndGet(instant -> instant.plus(duration));
  }

  @Override
  public Instant instant() {
    return now.get();
  }
}
