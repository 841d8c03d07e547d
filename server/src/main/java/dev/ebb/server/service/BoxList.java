package dev.ebb.server.service;

import dev.ebb.model.BoxState;
import dev.ebb.model.ByteSize;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.TenantMemory;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The boxes of all tenants, the oldest first: existing boxes, and the records of ended ones until
 * they are forgotten. Thread-safe.
 */
final class BoxList {
  private final AtomicLong orders = new AtomicLong();

  /** The boxes in order of their creation. */
  private final Map<Long, TenantBox> all = new ConcurrentSkipListMap<>();

  /** The history, in the same order. */
  private final Map<Long, Ended> ended = new ConcurrentSkipListMap<>();

  private final Map<String, Long> ids = new ConcurrentHashMap<>();
  private volatile ByteSize fileSize = Caps.ANY_SIZE;

  /**
   * A record with its memory claims.
   *
   * @param room for the box itself
   * @param execRoom for its execs
   */
  record Ended(EndedBox box, TenantMemory.Claim room, List<TenantMemory.Claim> execRoom) {
    Ended {
      execRoom = List.copyOf(execRoom);
    }

    void giveBack() {
      room.close();
      execRoom.forEach(TenantMemory.Claim::close);
    }

    Ended with(EndedBox changed) {
      return new Ended(changed, room, execRoom);
    }
  }

  /** Adds a box, in place of one with the same id if there is one. */
  void add(TenantBox box) {
    long number = number(box.id());
    box.capFiles(fileSize);
    all.put(number, box);
  }

  /** Adds a box that ended under an earlier daemon. */
  void add(Ended past) {
    ended.put(number(past.box().id().value()), past);
  }

  private long number(String id) {
    return ids.computeIfAbsent(id, _ -> orders.incrementAndGet());
  }

  /**
   * Replaces a box by its record.
   *
   * @return false when the box was removed meanwhile
   */
  boolean retire(TenantBox box, Ended record) {
    Long number = ids.get(box.id());
    if (number == null) {
      return false;
    }
    // ORDER: at every moment one of the two is listed.
    ended.put(number, record);
    if (all.remove(number, box)) {
      return true;
    }
    ended.remove(number, record);
    return false;
  }

  /** Removes a box; returns its record if there was one. */
  Optional<EndedBox> remove(String id) {
    Long number = ids.remove(id);
    if (number == null) {
      return Optional.empty();
    }
    all.remove(number);
    Optional<Ended> record = Optional.ofNullable(ended.remove(number));
    record.ifPresent(Ended::giveBack);
    return record.map(Ended::box);
  }

  /** Changes a record, if it is still listed. */
  void change(String id, Function<EndedBox, EndedBox> change) {
    Long number = ids.get(id);
    if (number != null) {
      ended.computeIfPresent(number, (_, was) -> was.with(change.apply(was.box())));
    }
  }

  /** Forgets the execs of the records of a tenant, to make room. */
  void forgetExecs(String tenant) {
    for (Ended each : ended.values()) {
      if (each.box().note().tenant().equals(tenant)) {
        change(each.box().id().value(), EndedBox::withoutExecs);
        each.execRoom().forEach(claim -> claim.shrinkTo(0));
      }
    }
  }

  /** Finds a box that exists, or ended a moment ago. */
  Optional<TenantBox> find(String id) {
    Long number = ids.get(id);
    return number == null ? Optional.empty() : Optional.ofNullable(all.get(number));
  }

  /** Finds a box that exists, or else its record as {@code view} shows it. */
  Optional<TenantBox> find(String id, Function<EndedBox, TenantBox> view) {
    // ORDER: a box becomes a record, and never the other way round.
    return find(id).or(() -> findEnded(id).map(view));
  }

  private Optional<EndedBox> findEnded(String id) {
    Long number = ids.get(id);
    return number == null
        ? Optional.empty()
        : Optional.ofNullable(ended.get(number)).map(Ended::box);
  }

  /** Finds the latest record of a box with this name. */
  Optional<EndedBox> findEndedByName(String tenant, String name) {
    return ended()
        .filter(box -> box.note().tenant().equals(tenant))
        .filter(box -> box.note().order().name().equals(Optional.of(name)))
        .max(Comparator.comparing(EndedBox::endedAt));
  }

  /** Returns the boxes that exist, or ended a moment ago; the oldest first. */
  Stream<TenantBox> all() {
    return all.values().stream();
  }

  /** Returns the records of ended boxes, the oldest first. */
  Stream<EndedBox> ended() {
    return ended.values().stream().map(Ended::box);
  }

  /** Returns all boxes, records as {@code view} shows them; the oldest first. */
  Stream<TenantBox> all(Function<EndedBox, TenantBox> view) {
    // RACE: a TreeMap made of a sorted map fails when that loses an entry meanwhile.
    var both = new TreeMap<Long, TenantBox>();
    // ORDER: a box becomes a record, and never the other way round.
    all.forEach(both::put);
    ended.forEach((number, record) -> both.computeIfAbsent(number, _ -> view.apply(record.box())));
    return both.values().stream();
  }

  /** Returns the boxes of one tenant that exist or are being made. */
  Stream<TenantBox> present(String tenant) {
    return all().filter(box -> box.tenant().equals(tenant) && box.state() != BoxState.GONE);
  }

  /** Bounds the size of files that are written to a box or read from one. */
  void capFiles(ByteSize most) {
    fileSize = most;
    all().forEach(box -> box.capFiles(most));
  }
}
