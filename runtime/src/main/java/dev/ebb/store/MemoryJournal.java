package dev.ebb.store;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A journal that ends with its process. Thread-safe. */
final class MemoryJournal implements Journal {
  private final OrderedLock lock = new OrderedLock(LockOrder.JOURNAL);

  @GuardedBy("lock")
  private final List<JournalEntry> added = new ArrayList<>();

  @Override
  public void append(JournalEntry entry) {
    lock.lock();
    try {
      added.add(entry);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void forget(int number) throws IOException {
    lock.lock();
    try {
      added.add(Contents.forgotten(number));
      Contents left = contents();
      added.clear();
      added.add(Contents.forgotten(left.highest()));
      added.addAll(left.entries());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Contents contents() throws IOException {
    lock.lock();
    try {
      return Contents.of(added);
    } finally {
      lock.unlock();
    }
  }
}
