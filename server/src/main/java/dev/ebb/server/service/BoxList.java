package dev.ebb.server.service;

import dev.ebb.model.BoxState;
import dev.ebb.model.ByteSize;
import dev.ebb.server.service.access.Caps;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** The boxes of all tenants that are not forgotten, the oldest first. Thread-safe. */
final class BoxList {
  private final AtomicLong orders = new AtomicLong();

  /** By the order they came in. */
  private final Map<Long, TenantBox> all = new ConcurrentSkipListMap<>();

  private final Map<String, Long> ids = new ConcurrentHashMap<>();
  private volatile ByteSize fileSize = Caps.ANY_SIZE;

  /** Takes the place of a box with the same id, if there is one. */
  void add(TenantBox box) {
    long number = ids.computeIfAbsent(box.id(), _ -> orders.incrementAndGet());
    box.capFiles(fileSize);
    all.put(number, box);
  }

  void remove(TenantBox box) {
    Long number = ids.remove(box.id());
    if (number != null) {
      all.remove(number);
    }
  }

  Optional<TenantBox> find(String id) {
    Long number = ids.get(id);
    return number == null ? Optional.empty() : Optional.ofNullable(all.get(number));
  }

  /** The oldest first. */
  Stream<TenantBox> all() {
    return all.values().stream();
  }

  /** Those of one tenant that are there, or in the making. */
  Stream<TenantBox> present(String tenant) {
    return all().filter(box -> box.tenant().equals(tenant) && box.state() != BoxState.GONE);
  }

  /** From now on no file that is written to a box, or read from one, is larger. */
  void capFiles(ByteSize most) {
    fileSize = most;
    all().forEach(box -> box.capFiles(most));
  }
}
