package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.BoxEnd;
import dev.ebb.box.PastRelease;
import dev.ebb.engine.PastReleases;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.BoxId;
import dev.ebb.model.Certificate;
import dev.ebb.server.service.access.Caller;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.locks.Condition;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The releases of boxes that were removed or are being removed: of each tenant the latest, in
 * memory and in the records of the engine, so the next daemon has them, too. Thread-safe.
 */
final class Certificates {
  /** A release that goes on or is stuck is never forgotten, so there may be a few more. */
  static final int MOST_OF_A_TENANT = 1000;

  static final Duration AGE = Duration.ofDays(1);

  private static final String TENANT = "tenant";
  private static final String NAME = "name";
  private static final String RECOVERED = "recovered";

  private final PastReleases past;
  private final OrderedLock lock = new OrderedLock(LockOrder.CERTIFICATES);
  private final Condition news = lock.newCondition();

  /** By tenant and id, the oldest first. */
  @GuardedBy("lock")
  private final Map<String, SequencedMap<String, Entry>> all = new HashMap<>();

  @GuardedBy("lock")
  private long changes;

  /**
   * A release and its record.
   *
   * @param number of its record
   */
  private record Entry(BoxRelease release, int number) {
    private boolean isExpired(Instant now) {
      return release.state() == BoxRelease.State.DONE && now.isAfter(release.at().plus(AGE));
    }
  }

  Certificates(PastReleases past) {
    this.past = past;
  }

  // --- those of earlier daemons ---

  /**
   * Takes over the releases of earlier daemons. This daemon's engine has released the boxes that
   * the last one had answered and not released.
   */
  void open() {
    Instant now = BoxRelease.now();
    past.open().forEach((number, record) -> adopt(number, record, now));
  }

  private void adopt(int number, PastRelease record, Instant now) {
    String id = record.id().value();
    boolean isRecovered = record.end().isEmpty() || record.note().containsKey(RECOVERED);
    Certificate proof =
        record
            .end()
            .map(BoxEnd::certificate)
            .or(() -> past.recovered(id))
            .orElseGet(() -> EndedBox.nothing(record.id()));
    var release =
        new BoxRelease(
            id,
            record.note().getOrDefault(TENANT, ""),
            Optional.ofNullable(record.note().get(NAME)),
            record.end().map(BoxEnd::at).orElse(now),
            Optional.of(proof),
            isRecovered);
    if (record.end().isEmpty() && proof.isClean()) {
      past.end(number, record(release));
    }
    put(new Entry(release, number));
  }

  // --- those of this daemon ---

  /** Notes that a run is about to be answered, and its box is released after that. */
  void begin(TenantBox box) {
    var release = BoxRelease.of(box, Optional.empty());
    put(new Entry(release, past.begin(record(release))));
  }

  /** Called between the answer and the release. */
  void answered() {
    past.answered();
  }

  /** Notes that a box was released; of two callers that released it, the last one counts. */
  void end(TenantBox box, Certificate proof) {
    BoxRelease release = BoxRelease.of(box, Optional.of(proof));
    int begun = find(box.tenant(), box.id()).map(Entry::number).orElse(PastReleases.NONE);
    // ORDER: it is written first, so what a caller has seen is there after a restart.
    put(new Entry(release, past.end(begun, record(release))));
  }

  /** Notes what is stuck of a box whose release has begun. */
  void stuck(TenantBox box, Certificate proof) {
    find(box.tenant(), box.id())
        .ifPresent(entry -> put(new Entry(entry.release().with(proof), entry.number())));
  }

  /** Notes that nothing is left of a box that was stuck at the start of this daemon. */
  BoxRelease end(BoxRelease stuck) {
    int number = find(stuck.tenant(), stuck.box()).map(Entry::number).orElse(PastReleases.NONE);
    Certificate was = stuck.certificate().orElseThrow();
    BoxRelease done =
        stuck.with(new Certificate(was.box(), was.held(), was.held(), List.of(), was.took()));
    put(new Entry(done, past.end(number, record(done))));
    return done;
  }

  private static PastRelease record(BoxRelease release) {
    var note = new LinkedHashMap<String, String>();
    note.put(TENANT, release.tenant());
    release.name().ifPresent(name -> note.put(NAME, name));
    if (release.isRecovered()) {
      note.put(RECOVERED, "true");
    }
    Optional<BoxEnd> end =
        release.certificate().map(proof -> new BoxEnd(release.at(), proof, Map.of()));
    return new PastRelease(new BoxId(release.box()), note, end);
  }

  private Optional<Entry> find(String tenant, String id) {
    lock.lock();
    try {
      return Optional.ofNullable(all.get(tenant)).map(ofTenant -> ofTenant.get(id));
    } finally {
      lock.unlock();
    }
  }

  private void put(Entry entry) {
    List<Entry> dropped;
    lock.lock();
    try {
      var ofTenant = all.computeIfAbsent(entry.release().tenant(), _ -> new LinkedHashMap<>());
      ofTenant.putLast(entry.release().box(), entry);
      dropped = surplus(ofTenant);
      dropped.forEach(old -> ofTenant.remove(old.release().box()));
      changed();
    } finally {
      lock.unlock();
    }
    dropped.forEach(old -> past.forget(old.number()));
  }

  /** Returns what is to be forgotten, which is at the beginning. */
  private static List<Entry> surplus(Map<String, Entry> ofTenant) {
    Instant now = Instant.now();
    int more = ofTenant.size() - MOST_OF_A_TENANT;
    var surplus = new ArrayList<Entry>();
    for (Entry entry : ofTenant.values()) {
      if (more <= surplus.size() && !entry.isExpired(now)) {
        break;
      }
      if (entry.release().state() == BoxRelease.State.DONE) {
        surplus.add(entry);
      }
    }
    return surplus;
  }

  // --- finding ---

  /** Finds the latest release of a box of this id or name. */
  Optional<BoxRelease> find(Caller caller, String word, Instant now) {
    lock.lock();
    try {
      BoxRelease latest = null;
      for (var each : all.entrySet()) {
        if (caller.mayTouch(each.getKey())) {
          boolean isOwn = caller.tenant().equals(each.getKey());
          latest = later(latest, find(each.getValue(), word, isOwn, now));
        }
      }
      return Optional.ofNullable(latest);
    } finally {
      lock.unlock();
    }
  }

  private static @Nullable BoxRelease find(
      Map<String, Entry> ofTenant, String word, boolean isOwn, Instant now) {
    Entry byId = ofTenant.get(word);
    if (byId != null) {
      return byId.isExpired(now) ? null : byId.release();
    }
    Predicate<Entry> isMeant = each -> each.release().name().equals(Optional.of(word));
    return isOwn && !BoxNames.isId(word)
        ? ofTenant.values().stream()
            .filter(isMeant.and(each -> !each.isExpired(now)))
            .reduce((_, last) -> last)
            .map(Entry::release)
            .orElse(null)
        : null;
  }

  private static @Nullable BoxRelease later(@Nullable BoxRelease one, @Nullable BoxRelease other) {
    return one == null || (other != null && other.at().isAfter(one.at())) ? other : one;
  }

  /** Wakes those that wait for a release. */
  void changed() {
    lock.lock();
    try {
      changes++;
      news.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns a number that changes with every release. */
  long changes() {
    lock.lock();
    try {
      return changes;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a change after {@code seen}, but no longer than {@code patience}. */
  void awaitChange(long seen, Duration patience) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long nanos = patience.toNanos();
      while (changes == seen && nanos > 0) {
        nanos = news.awaitNanos(nanos);
      }
    } finally {
      lock.unlock();
    }
  }
}
