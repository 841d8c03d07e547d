package dev.ebb.server.http;

import dev.ebb.kernel.ProcessClock;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A connection whose idle timeout counts only time in which this process runs. Jetty uses the
 * system's clock: after a stop of the process it would close connections with unread bytes.
 */
final class RunningTimeEndPoint extends SocketChannelEndPoint {
  private volatile long active = ProcessClock.nanos();

  RunningTimeEndPoint(
      SocketChannel channel, ManagedSelector selector, SelectionKey key, Scheduler scheduler) {
    super(channel, selector, key, scheduler);
  }

  @Override
  public void notIdle() {
    super.notIdle();
    active = ProcessClock.nanos();
  }

  /** Called when the idle timeout is over by the system's clock; it restarts afterwards. */
  @Override
  protected void onIdleExpired(TimeoutException timeout) {
    if (ProcessClock.since(active).compareTo(Duration.ofMillis(getIdleTimeout())) >= 0) {
      super.onIdleExpired(timeout);
    }
  }
}
