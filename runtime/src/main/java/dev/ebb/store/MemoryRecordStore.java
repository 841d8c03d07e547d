package dev.ebb.store;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Records that end with their process, for tests without a home. Thread-safe. */
public final class MemoryRecordStore implements RecordStore {
  private final Map<String, Journal> boxes = new ConcurrentHashMap<>();
  private final Journal history = new MemoryJournal();
  private final Journal certificates = new MemoryJournal();
  private final OwnerLines keys = new MemoryLines("keys");
  private final OwnerLines quotas = new MemoryLines("quotas");

  @Override
  public Journal box(String id) {
    return boxes.computeIfAbsent(id, _ -> new MemoryJournal());
  }

  @Override
  public Journal history() {
    return history;
  }

  @Override
  public Journal certificates() {
    return certificates;
  }

  @Override
  public OwnerLines keys() {
    return keys;
  }

  @Override
  public OwnerLines quotas() {
    return quotas;
  }
}
