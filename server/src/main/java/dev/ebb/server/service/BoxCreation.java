package dev.ebb.server.service;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.WarmPool;
import dev.ebb.server.service.BoxRegistry.Created;
import dev.ebb.server.service.BoxRegistry.Filling;
import dev.ebb.server.service.BoxRegistry.Idempotency;
import dev.ebb.server.service.access.Caller;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Makes the boxes that tenants order: admits them, reserves their names, holds them below the
 * quota, takes a warm box or has one made, and fills it. Thread-safe.
 */
final class BoxCreation {
  /** How long an order beyond the quota waits for boxes whose runs were answered. */
  private static final Duration RELEASE_PATIENCE = Duration.ofSeconds(5);

  private final Facilities facilities;
  private final WarmPool pool;
  private final AdmissionControl admission;
  private final TenantUse use;
  private final BoxNames names;
  private final IdempotencyKeys keys;
  private final Endings endings;
  private final ReleaseBacklog backlog;
  private volatile boolean isDraining;

  BoxCreation(
      Facilities facilities,
      WarmPool pool,
      AdmissionControl admission,
      TenantUse use,
      BoxNames names,
      IdempotencyKeys keys,
      Endings endings,
      ReleaseBacklog backlog) {
    this.backlog = backlog;
    this.facilities = facilities;
    this.pool = pool;
    this.admission = admission;
    this.use = use;
    this.names = names;
    this.keys = keys;
    this.endings = endings;
  }

  /** Stops making boxes. */
  void drain() {
    isDraining = true;
  }

  boolean isDraining() {
    return isDraining;
  }

  private void requireOpen() {
    if (isDraining) {
      throw draining();
    }
  }

  private static SandboxException draining() {
    return new SandboxException(ErrorCode.DRAINING, "the daemon is going down");
  }

  /** Returns a permit for a command in a box of its own, held until both exist. */
  Permit admitRun(Caller caller, BooleanSupplier hasLeft) throws InterruptedException {
    requireOpen();
    return admission.admit(caller.tenant(), Cost.RUN, hasLeft);
  }

  /**
   * Makes a box and writes its files, for an admitted caller.
   *
   * @param planned the command that runs in it first, which may wait in a pooled box already
   */
  TenantBox createAdmitted(Caller caller, BoxOrder order, Filling filling, PlannedStart planned)
      throws IOException, InterruptedException {
    requireOpen();
    facilities.engine().requireBackend(order.spec());
    names.requireFree(caller.tenant(), order.name());
    var note = new BoxNote(caller.tenant(), order, Instant.now(), Optional.empty());
    // A box that is removed with the answer needs no record of its creation.
    return makeAndFill(note, filling, planned, false);
  }

  /**
   * Makes a box and writes its files when there is room, unless this order has made one before.
   *
   * @param hasLeft whether the caller has disconnected meanwhile
   */
  Created create(
      Caller caller,
      BoxOrder order,
      Optional<Idempotency> idempotency,
      Filling filling,
      BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    requireOpen();
    facilities.engine().requireBackend(order.spec());
    String tenant = caller.tenant();
    if (idempotency.isPresent()) {
      Optional<Created> before = keys.before(tenant, idempotency.get());
      if (before.isPresent()) {
        return before.get();
      }
    } else {
      // With a key the name may be that of the box that this order made before.
      names.requireFree(tenant, order.name());
    }
    var note = new BoxNote(tenant, order, Instant.now(), idempotency);
    return idempotency.isPresent()
        ? keys.once(tenant, idempotency.get(), () -> admitAndMake(note, filling, hasLeft))
        : new Created(admitAndMake(note, filling, hasLeft), true);
  }

  private TenantBox admitAndMake(BoxNote note, Filling filling, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    try (Permit _ = admission.admit(note.tenant(), Cost.BOX, hasLeft)) {
      return makeAndFill(note, filling, PlannedStart.UNKNOWN, true);
    }
  }

  /** Removes a box whose files cannot be written. */
  private TenantBox makeAndFill(
      BoxNote note, Filling filling, PlannedStart planned, boolean isRecorded)
      throws IOException, InterruptedException {
    Instant begun = Instant.now();
    // ORDER: the caller is admitted by now, so a request that waits for room holds no box.
    var warm = pool.take(note.order().spec(), planned);
    var box = new TenantBox(facilities, note, warm);
    try {
      makeAndFill(box, filling, isRecorded);
      return box;
    } catch (SandboxException e) {
      throw admission.explain(e, begun);
    } finally {
      // The box that a refused order would have had.
      box.takeUnused().ifPresent(pool::refuse);
    }
  }

  private void makeAndFill(TenantBox box, Filling filling, boolean isRecorded)
      throws IOException, InterruptedException {
    listAndMake(box);
    try {
      filling.fill(box);
      // ORDER: the next daemon must not find an incomplete box.
      box.detachIfOrdered();
      if (isRecorded) {
        // ORDER: a box is recorded before its caller gets the answer.
        endings.beginRecord(box);
      }
    } catch (IOException | InterruptedException e) {
      endings.remove(box, true);
      throw e;
    } catch (RuntimeException e) {
      // RACE: other requests find a box as soon as it is made. Even if one of them has ended it
      // since, it was made, and that is the answer.
      if (!EndRace.isByRequest(box, e)) {
        endings.remove(box, true);
        throw e;
      }
    }
  }

  /** Lists a box below the quota; boxes of the tenant that are being released make room soon. */
  private void listWithRoom(TenantBox box) throws InterruptedException {
    Deadline end = Deadline.in(RELEASE_PATIENCE);
    while (true) {
      ReleaseBacklog.Look before = backlog.look(box.tenant());
      try {
        use.list(box);
        return;
      } catch (SandboxException e) {
        if (e.code() != ErrorCode.QUOTA || !backlog.awaitRelease(before, end)) {
          throw e;
        }
      }
    }
  }

  private void listAndMake(TenantBox box) throws InterruptedException {
    names.reserve(box);
    try {
      box.claimRoom();
      listWithRoom(box);
    } catch (InterruptedException e) {
      endings.unlist(box);
      box.fail(new SandboxException(ErrorCode.INTERRUPTED, "interrupted before it was made", e));
      throw e;
    } catch (SandboxException e) {
      endings.unlist(box);
      box.fail(e);
      throw e;
    }
    try {
      box.make(() -> endings.end(box, Duration.ZERO, EndedBy.DIED));
      if (isDraining) {
        // RACE: the drain may have looked before this one was listed.
        endings.end(box, Duration.ZERO, EndedBy.DRAIN);
        throw draining();
      }
    } catch (RuntimeException e) {
      endings.unlist(box);
      throw e;
    }
  }
}
