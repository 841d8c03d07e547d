package dev.ebb.client.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.Closeable;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** A few idle connections, the latest first. */
final class Pool implements Closeable {
  private static final int CAPACITY = 4;

  /** Servers close connections that are idle for longer. */
  private static final long MAX_IDLE_NANOS = Duration.ofSeconds(20).toNanos();

  @GuardedBy("this")
  private final Deque<Idle> idle = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean closed;

  private record Idle(Connection connection, long since) {}

  /** Takes a connection that still seems usable. */
  Optional<Connection> borrow() {
    while (true) {
      Idle latest;
      synchronized (this) {
        latest = idle.poll();
      }
      if (latest == null) {
        return Optional.empty();
      }
      if (System.nanoTime() - latest.since < MAX_IDLE_NANOS && latest.connection.isQuiet()) {
        return Optional.of(latest.connection);
      }
      latest.connection.close();
    }
  }

  void giveBack(Connection connection) {
    synchronized (this) {
      if (!closed && idle.size() < CAPACITY) {
        idle.push(new Idle(connection, System.nanoTime()));
        return;
      }
    }
    connection.close();
  }

  @Override
  public synchronized void close() {
    closed = true;
    idle.forEach(each -> each.connection.close());
    idle.clear();
  }
}
