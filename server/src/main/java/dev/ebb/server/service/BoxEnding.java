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
 * The end of one box as far as it is known: its reason, its time, its proof, and when a stuck one
 * is tried again. Thread-safe.
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

  /** Takes over an end that is on record. */
  void adopt(EndedBox box) {
    adopt(box.end());
    certificate = box.certificate().orElse(null);
    isRemovalWanted = box.retry().isPresent();
  }

  /** Takes over the end that the daemon before this one saw. */
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

  /** Returns the first reason that was given, this one included. */
  EndedBy firstReason(EndedBy reason) {
    return Objects.requireNonNullElse(by.compareAndExchange(null, reason), reason);
  }

  void replaceReason(EndedBy reason) {
    by.set(reason);
  }

  static Optional<EndedBy> reason(BoxEnd end) {
    return EndedBy.parse(end.note().get(ENDED_BY));
  }

  /** The next daemon hands it out with the end of the box. */
  static Map<String, String> note(EndedBy reason) {
    return Map.of(ENDED_BY, reason.wireName());
  }

  void prove(Certificate proof) {
    certificate = proof;
  }

  /** The box is gone; the time of the first end stays. */
  void isGone() {
    if (at == null) {
      at = Instant.now();
    }
  }

  /** The box is stuck once more. */
  void isStuck() {
    tryAt = Instant.now().plus(STUCK.after(stuckInARow.incrementAndGet()));
  }

  boolean isToBeTried(Instant now) {
    return now.isAfter(tryAt);
  }

  /** True for the one thread that shall end the box when no request asked for it. */
  boolean begin() {
    return isBegun.compareAndSet(false, true);
  }

  void finish() {
    isBegun.set(false);
  }

  /** The end as it goes on record; empty while it is not known in full. */
  Optional<BoxEnd> end() {
    Instant when = at;
    Certificate proof = certificate;
    EndedBy reason = by.get();
    return when == null || proof == null || !proof.isClean()
        ? Optional.empty()
        : Optional.of(new BoxEnd(when, proof, reason == null ? Map.of() : note(reason)));
  }

  /** A thread removes it at this moment, or has removed it: it need not go on record. */
  void beginRemoval() {
    removals.incrementAndGet();
  }

  /** The removal failed. */
  void removalFailed() {
    removals.decrementAndGet();
  }

  boolean isBeingRemoved() {
    return removals.get() > 0;
  }

  /** True for the one thread that shall put it on record as ended. */
  boolean beginRetirement() {
    return isRetired.compareAndSet(false, true);
  }

  /** It cannot go on record yet. */
  void cancelRetirement() {
    isRetired.set(false);
  }

  /** Its removal has begun, and is finished when it can be. */
  void wantRemoval() {
    isRemovalWanted = true;
  }

  boolean isRemovalWanted() {
    return isRemovalWanted;
  }
}
