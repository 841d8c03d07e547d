package dev.ebb.server.service;

import dev.ebb.box.BoxEnd;
import dev.ebb.model.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The end of one box as far as it is known: its reason, time and proof, and the retries while it is
 * stuck. Thread-safe.
 */
final class BoxEnding {
  static final Backoff STUCK = new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(30));

  /** The key of the reason in the note for the next daemon. */
  private static final String ENDED_BY = "ended-by";

  private final AtomicReference<@Nullable EndedBy> by = new AtomicReference<>();
  private final AtomicBoolean isBegun = new AtomicBoolean();
  private final AtomicInteger stuckInARow = new AtomicInteger();
  private final AtomicBoolean isRetired = new AtomicBoolean();
  private final AtomicInteger removals = new AtomicInteger();
  private volatile Instant tryAt = Instant.MAX;
  private volatile boolean isRemovalWanted;
  private volatile @Nullable Instant at;
  private volatile @Nullable Certificate certificate;

  /** Takes over a recorded end. */
  void adopt(EndedBox box) {
    adopt(box.end());
    certificate = box.certificate().orElse(null);
    isRemovalWanted = box.retry().isPresent();
  }

  /** Takes over an end that the previous daemon saw. */
  void adopt(BoxEnd end) {
    at = end.at();
    certificate = end.certificate();
    by.set(reason(end).orElse(null));
  }

  Optional<EndedBy> by() {
    return Optional.ofNullable(by.get());
  }

  Optional<Instant> at() {
    return Optional.ofNullable(at);
  }

  Optional<Certificate> certificate() {
    return Optional.ofNullable(certificate);
  }

  /** Notes a reason, and returns the first one that was noted. */
  EndedBy firstReason(EndedBy reason) {
    return Objects.requireNonNullElse(by.compareAndExchange(null, reason), reason);
  }

  void replaceReason(EndedBy reason) {
    by.set(reason);
  }

  static Optional<EndedBy> reason(BoxEnd end) {
    return EndedBy.parse(end.note().get(ENDED_BY));
  }

  /** Returns the note that the next daemon reads with the end of the box. */
  static Map<String, String> note(EndedBy reason) {
    return Map.of(ENDED_BY, reason.wireName());
  }

  void prove(Certificate proof) {
    certificate = proof;
  }

  /** Notes that the box is gone; the time of the first end stays. */
  void isGone() {
    if (at == null) {
      at = Instant.now();
    }
  }

  /** Notes that the box is stuck or lost, so that its end is tried again later. */
  void retryLater() {
    tryAt = Instant.now().plus(STUCK.after(stuckInARow.incrementAndGet()));
  }

  boolean isToBeTried(Instant now) {
    return now.isAfter(tryAt);
  }

  /** Returns true for the one thread that ends the box without a request. */
  boolean begin() {
    return isBegun.compareAndSet(false, true);
  }

  void finish() {
    isBegun.set(false);
  }

  /** Returns the end for the record; empty while it is not fully known. */
  Optional<BoxEnd> end() {
    Instant when = at;
    Certificate proof = certificate;
    EndedBy reason = by.get();
    return when == null || proof == null || !proof.isClean()
        ? Optional.empty()
        : Optional.of(new BoxEnd(when, proof, reason == null ? Map.of() : note(reason)));
  }

  /** Notes that a thread is removing the box or has removed it: it needs no record. */
  void beginRemoval() {
    removals.incrementAndGet();
  }

  /** Notes that the removal failed. */
  void removalFailed() {
    removals.decrementAndGet();
  }

  boolean isBeingRemoved() {
    return removals.get() > 0;
  }

  /** Returns true for the one thread that records it as ended. */
  boolean beginRetirement() {
    return isRetired.compareAndSet(false, true);
  }

  /** Notes that it cannot be recorded yet. */
  void cancelRetirement() {
    isRetired.set(false);
  }

  /** Notes that its removal has begun, and is completed when possible. */
  void wantRemoval() {
    isRemovalWanted = true;
  }

  boolean isRemovalWanted() {
    return isRemovalWanted;
  }
}
