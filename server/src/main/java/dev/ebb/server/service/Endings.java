package dev.ebb.server.service;

import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.AsyncEndings.Verb;
import dev.ebb.server.service.BoxRegistry.Removal;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ends boxes and forgets them: for a request, after the answer, with their command, at a deadline,
 * and when the daemon stops. Thread-safe.
 */
final class Endings {
  private static final Logger LOG = System.getLogger(Endings.class.getName());
  private static final Duration LONG = Duration.ofDays(3650);

  /** How long a client that follows a command may read on when its box is gone. */
  private static final Duration READ_PATIENCE = Duration.ofMinutes(1);

  /** How long the removal of a box waits for the answer to its run. */
  private static final Duration ANSWER_PATIENCE = Duration.ofSeconds(1);

  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);

  private final BoxList list;
  private final BoxNames names;
  private final IdempotencyKeys keys;
  private final Certificates certificates;
  private final ReleaseBacklog backlog;
  private final AsyncEndings async = new AsyncEndings();
  private final Records records;

  Endings(
      BoxList list,
      BoxNames names,
      IdempotencyKeys keys,
      Certificates certificates,
      ReleaseBacklog backlog,
      Records records) {
    this.records = records;
    this.list = list;
    this.names = names;
    this.keys = keys;
    this.certificates = certificates;
    this.backlog = backlog;
  }

  /** How many boxes may be ended after their answers at a time. */
  int asyncCount() {
    return async.count();
  }

  // --- for a request ---

  /** Ends a box and forgets it; a repeated removal gets the same certificate. */
  Removal remove(TenantBox box, boolean force, boolean wait) throws InterruptedException {
    if (force && !wait && box.state() != BoxState.GONE) {
      removeAsync(box);
      return new Removal(box.id(), Optional.empty());
    }
    Certificate certificate = remove(box, force);
    return new Removal(box.id(), Optional.of(box.certificate().orElse(certificate)));
  }

  /** Ends a box and forgets all but its certificate; a box that does not end stays. */
  Certificate remove(TenantBox box, boolean force) throws InterruptedException {
    if (!force && box.state() != BoxState.GONE && !box.ending().isRemovalWanted()) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE,
          "box " + box.id() + " is " + box.state().wireName() + ": stop it first, or force it");
    }
    boolean isGone = false;
    // ORDER: a box that is removed after its end needs no record.
    box.ending().beginRemoval();
    try {
      Certificate certificate = box.end(Duration.ZERO, EndedBy.REQUEST);
      certificate = certificate.isClean() ? leave(box) : tryAgain(box, certificate);
      isGone = certificate.isClean();
      return certificate;
    } finally {
      if (!isGone) {
        box.ending().removalFailed();
      }
    }
  }

  /** Has the removal of a stuck box completed when its release is. */
  private Certificate tryAgain(TenantBox box, Certificate certificate) {
    box.ending().wantRemoval();
    certificates.stuck(box, certificate);
    return certificate;
  }

  /** Ends a box; its record stays. */
  Certificate stop(TenantBox box, Duration grace) throws InterruptedException {
    Certificate certificate = box.end(grace, EndedBy.REQUEST);
    records.retire(box);
    return certificate;
  }

  /** Removes a box without a waiting caller; a box that does not end becomes stuck. */
  void removeAsync(TenantBox box) {
    var _ = async.start(Verb.REMOVE, box, () -> remove(box, true));
  }

  /**
   * Has the box of a run removed after its answer, if few others are. Its name is free at once.
   *
   * @return to be called when the answer was sent; the removal does not wait long for that. Empty:
   *     the answer has to wait for the removal
   */
  Optional<Runnable> removeAnswered(TenantBox box) {
    String tenant = box.tenant();
    if (!backlog.enter(tenant)) {
      return Optional.empty();
    }
    names.forget(box);
    certificates.begin(box);
    var sent = new CountDownLatch(1);
    if (!async.start(Verb.REMOVE, box, () -> removeAnswered(box, sent))) {
      // RACE: another request has begun to remove it.
      backlog.leave(tenant);
    }
    return Optional.of(sent::countDown);
  }

  private Certificate removeAnswered(TenantBox box, CountDownLatch sent)
      throws InterruptedException {
    try {
      // A client that reads slowly does not keep the box.
      var _ = sent.await(ANSWER_PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
      certificates.answered();
      return remove(box, true);
    } finally {
      backlog.leave(box.tenant());
    }
  }

  /** Begins to end a box: commands by the ladder, then the box. */
  void stopAsync(TenantBox box, Duration grace) {
    var _ = async.start(Verb.STOP, box, () -> stop(box, grace));
  }

  // --- with its command ---

  /**
   * Removes a box when its first command has ended; at once when there is none. A box that does not
   * end becomes stuck, and is retried like any other.
   */
  void removeAfterCommand(TenantBox box) {
    Optional<TenantExec> first = box.execs().stream().findFirst();
    Thread.ofVirtual().name("ebb-run-" + box.id()).start(() -> removeAfter(first, box));
  }

  private void removeAfter(Optional<TenantExec> first, TenantBox box) {
    try {
      if (first.isPresent()) {
        first.get().await(LONG);
      }
      // ORDER: it is removed as soon as it was read, and needs no record.
      box.ending().beginRemoval();
      box.end(Duration.ZERO, EndedBy.REQUEST);
      if (first.isPresent()) {
        first.get().awaitReaders(READ_PATIENCE);
      }
      remove(box, true);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
    }
  }

  // --- when no request asked for it ---

  /** Ends a box by the ladder in a thread of its own, unless another such thread does. */
  void endAsync(TenantBox box, EndedBy by) {
    if (box.ending().begin()) {
      Thread.ofVirtual()
          .name("ebb-end-" + box.id())
          .start(
              () -> {
                try {
                  endInTime(box, by);
                } finally {
                  box.ending().finish();
                }
              });
    }
  }

  /** ORDER: a command that ended before the box is reported with its own end. */
  private void endInTime(TenantBox box, EndedBy by) {
    try {
      box.catchUp();
      end(box, DEFAULT_GRACE, by);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends a box and logs it; forgets it if its removal has begun. */
  void end(TenantBox box, Duration grace, EndedBy by) {
    try {
      Certificate certificate = box.end(grace, by);
      if (box.ending().isRemovalWanted()) {
        certificate = certificate.isClean() ? leave(box) : tryAgain(box, certificate);
      } else {
        records.retire(box);
      }
      LOG.log(
          certificate.isClean() ? Level.DEBUG : Level.WARNING,
          "event=box_ended box={0} by={1} certificate=\"{2}\"",
          box.id(),
          by.wireName(),
          certificate);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
    }
  }

  // --- forgetting ---

  /** Forgets an ended box, except for the answer to a repeated removal. */
  void forget(EndedBox box) {
    try {
      var _ = leave(records.view(box));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=forget_failed box=" + box.id(), e);
    }
  }

  /** Records a box that ends with its daemon. */
  void beginRecord(TenantBox box) {
    records.begin(box);
  }

  /** Replaces an ended box by its record, unless it is being removed. */
  void retire(TenantBox box) {
    records.retire(box);
  }

  /** Keeps a box whose output cannot be removed on the list, as stuck, for retries. */
  private Certificate leave(TenantBox box) {
    Certificate certificate = box.forget();
    if (!certificate.isClean()) {
      records.stuck(box, certificate);
      LOG.log(
          Level.WARNING,
          "event=box_not_forgotten, trying again box={0} certificate=\"{1}\"",
          box.id(),
          certificate);
      return tryAgain(box, certificate);
    }
    // ORDER: a request that no longer finds it on the list finds its certificate.
    certificates.end(box, box.certificate().orElse(certificate));
    unlist(box);
    certificates.changed();
    return certificate;
  }

  /** Forgets a box that is gone or was never made, with its name and idempotency key. */
  void unlist(TenantBox box) {
    giveBack(box);
    records.remove(box);
    // ORDER: a caller that got 404 must not find it afterwards.
    box.unlisted();
  }

  /** Releases the memory, the name and the idempotency key of a box. */
  private void giveBack(TenantBox box) {
    box.giveBack();
    names.forget(box);
    keys.forget(box);
  }

  // --- the end of the daemon ---

  /** Ends all attached boxes concurrently, and waits for these and all other endings. */
  void drain() {
    async.interruptStops();
    var ending = new ArrayList<>(async.threads());
    List<TenantBox> attached = list.all().filter(box -> !box.order().detached()).toList();
    for (TenantBox box : attached) {
      ending.add(
          Thread.ofVirtual()
              .name("ebb-drain-" + box.id())
              .start(() -> end(box, DEFAULT_GRACE, EndedBy.DRAIN)));
    }
    try {
      for (Thread each : ending) {
        each.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    attached.stream().filter(box -> box.state() != BoxState.GONE).forEach(Endings::logLeft);
  }

  private static void logLeft(TenantBox box) {
    LOG.log(
        Level.WARNING,
        "event=box_left_for_the_next_daemon box={0} state={1} certificate=\"{2}\"",
        box.id(),
        box.state().wireName(),
        box.certificate().map(Certificate::toString).orElse("none yet"));
  }
}
