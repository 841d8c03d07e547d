package dev.ebb.code;

import java.util.concurrent.atomic.AtomicLong;

/** Memory for what cells show. Thread-safe; it must not wait for anything. */
public interface ShowRoom {
  /** SAFETY: shared by all cells of this process that have no other. */
  ShowRoom OF_PROCESS = bounded(Math.min(64 << 20, Runtime.getRuntime().maxMemory() / 8));

  /** Takes so many bytes; returns false if they are not available. */
  boolean take(long bytes);

  void giveBack(long bytes);

  /** Makes room for {@code most} bytes, first come, first served. */
  static ShowRoom bounded(long most) {
    var used = new AtomicLong();
    return new ShowRoom() {
      @Override
      public boolean take(long bytes) {
        boolean isThere = used.addAndGet(bytes) <= most;
        if (!isThere) {
          used.addAndGet(-bytes);
        }
        return isThere;
      }

      @Override
      public void giveBack(long bytes) {
        used.addAndGet(-bytes);
      }
    };
  }
}
