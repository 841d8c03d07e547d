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
 * A connection that is idle only for time in which this process ran. Jetty's own idle time is the
 * system's: after a stop it would end connections whose bytes already wait to be read.
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

  /** Called when the idle time is over by the system's clock; it begins anew afterwards. */
  @Override
  protected void onIdleExpired(TimeoutException timeout) {
    if (ProcessClock.since(active).compareTo(Duration.ofMillis(getIdleTimeout())) >= 0) {
      super.onIdleExpired(timeout);
    }
  }
}
