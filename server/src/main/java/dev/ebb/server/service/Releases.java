package dev.ebb.server.service;

import dev.ebb.engine.Engine;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** How far the release of a box has come: while the box is listed, and afterwards. Thread-safe. */
public final class Releases {
  /** How often a caller looks again: not every release has a thread that reports it. */
  private static final Duration LOOK = Duration.ofMillis(100);

  private final Engine engine;
  private final Certificates certificates;
  private final BoxRegistry boxes;

  Releases(Engine engine, Certificates certificates, BoxRegistry boxes) {
    this.engine = engine;
    this.certificates = certificates;
    this.boxes = boxes;
  }

  /**
   * Finds the release of a box by id or name; that of another tenant counts as absent.
   *
   * @throws SandboxException there is no such box, or it lives
   */
  public BoxRelease find(Caller caller, String word) {
    Optional<TenantBox> box = boxes.listed(caller, word);
    // ORDER: a box has its certificate before it leaves the list.
    Optional<BoxRelease> known = certificates.find(caller, word, Instant.now());
    if (box.isPresent()) {
      return of(box.get(), known.filter(each -> each.box().equals(box.get().id())));
    }
    return known
        .map(this::again)
        .orElseThrow(() -> new SandboxException(ErrorCode.NOT_FOUND, "no box \"" + word + "\""));
  }

  /** Finds the release of a box, and waits a while for its end. */
  public BoxRelease await(Caller caller, String word, Duration patience)
      throws InterruptedException {
    Deadline end = Deadline.in(patience);
    while (true) {
      long seen = certificates.changes();
      BoxRelease now = find(caller, word);
      Duration left = Duration.ofNanos(end.remainingNanos());
      if (now.state() != BoxRelease.State.PENDING || end.isOver()) {
        return now;
      }
      certificates.awaitChange(seen, left.compareTo(LOOK) < 0 ? left : LOOK);
    }
  }

  private static BoxRelease of(TenantBox box, Optional<BoxRelease> known) {
    return switch (box.state()) {
      case GONE ->
          // It is about to leave the list.
          known.map(BoxRelease::pending).orElseGet(() -> BoxRelease.of(box, box.certificate()));
      case STUCK -> BoxRelease.of(box, box.certificate());
      case STOPPING, LOST -> BoxRelease.of(box, Optional.empty());
      case CREATING, RUNNING, PAUSED, UNREACHABLE ->
          known
              .map(BoxRelease::pending)
              .orElseThrow(
                  () ->
                      new SandboxException(
                          ErrorCode.WRONG_STATE,
                          "box %s is %s: it has no certificate"
                              .formatted(box.id(), box.state().wireName())));
    };
  }

  /** Looks again at what was stuck when this daemon began: a sweep may have released it since. */
  private BoxRelease again(BoxRelease known) {
    boolean isStuck = known.state() == BoxRelease.State.STUCK;
    if (!isStuck || engine.holdings().stream().anyMatch(each -> each.box().equals(known.box()))) {
      return known;
    }
    return certificates.end(known);
  }
}
