package dev.ebb.store;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Lines that end with their process. Thread-safe. */
final class MemoryLines implements OwnerLines {
  private final OrderedLock lock = new OrderedLock(LockOrder.JOURNAL);
  private final String name;

  @GuardedBy("lock")
  private List<String> lines = List.of();

  @GuardedBy("lock")
  private long changes;

  MemoryLines(String name) {
    this.name = name;
  }

  @Override
  public List<String> lines() {
    lock.lock();
    try {
      return lines;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String version() {
    lock.lock();
    try {
      return Long.toString(changes);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public <T> T change(Function<List<String>, T> change) {
    lock.lock();
    try {
      var changed = new ArrayList<>(lines);
      T result = change.apply(changed);
      lines = List.copyOf(changed);
      changes++;
      return result;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String place() {
    return name;
  }
}
