package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cost;
import dev.ebb.box.HostUids;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * The boxes whose runs were answered and that are not released yet: at most a few, and fewer where
 * their PIDs, descriptors or uids would take a large share of a limit. Beyond that answers wait for
 * the release of their own boxes. A tenant never takes the place of the next one. Thread-safe.
 */
final class ReleaseBacklog {
  /** On two processors about a quarter of a second of releases. */
  static final int MOST = 32;

  /** Together they may take one of so many equal parts of a limit. */
  private static final int PART = 8;

  private final AdmissionControl admission;
  private final HostUids uids;
  private final OrderedLock lock = new OrderedLock(LockOrder.RELEASE_BACKLOG);
  private final Condition released = lock.newCondition();

  /** Never zero. */
  @GuardedBy("lock")
  private final Map<String, Integer> pending = new HashMap<>();

  @GuardedBy("lock")
  private int total;

  @GuardedBy("lock")
  private long releases;

  ReleaseBacklog(AdmissionControl admission, HostUids uids) {
    this.admission = admission;
    this.uids = uids;
  }

  private int most() {
    int byUids = uids.most().isPresent() ? uids.most().getAsInt() / PART : MOST;
    return Math.min(MOST, Math.min(byUids, admission.fitting(Cost.RUN, PART)));
  }

  /** Adds a box; returns false if its answer has to wait for its release instead. */
  boolean enter(String tenant) {
    // ORDER: the gauges have locks of their own, which rank before this one.
    int most = most();
    lock.lock();
    try {
      int own = pending.getOrDefault(tenant, 0);
      int tenants = pending.size() + (own == 0 ? 1 : 0);
      // One share more than there are tenants, so the next one finds room at once.
      int share = Math.max(1, most / (tenants + 1));
      if (total >= most || own >= share) {
        return false;
      }
      pending.put(tenant, own + 1);
      total++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Removes a box that was released, or is stuck and retried. */
  void leave(String tenant) {
    lock.lock();
    try {
      pending.computeIfPresent(tenant, (_, own) -> own == 1 ? null : own - 1);
      total--;
      releases++;
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  int count() {
    lock.lock();
    try {
      return total;
    } finally {
      lock.unlock();
    }
  }

  /**
   * A look at the boxes of a tenant.
   *
   * @param isAny whether one was to be released
   */
  record Look(long releases, boolean isAny) {}

  Look look(String tenant) {
    lock.lock();
    try {
      return new Look(releases, pending.containsKey(tenant));
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a release after {@code seen}; returns false if none was to come, or at the end. */
  boolean awaitRelease(Look seen, Deadline end) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (seen.isAny() && releases == seen.releases() && !end.isOver()) {
        var _ = released.await(end.remainingNanos(), TimeUnit.NANOSECONDS);
      }
      return seen.isAny() && releases != seen.releases();
    } finally {
      lock.unlock();
    }
  }
}
