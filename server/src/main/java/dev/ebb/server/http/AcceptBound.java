package dev.ebb.server.http;

import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.SelectorManager;

/**
 * Bounds the connections that one listener has accepted and not opened yet. The thread that accepts
 * is faster than the threads that open: without a bound a flood takes every descriptor before
 * {@link Guests} counts it. Excess connections stay in the listen backlog.
 *
 * <p>The acceptor thread itself waits. Jetty's {@code setAccepting} is no alternative: the
 * connector for unix sockets (12.1.12) registers its blocking channel with a selector there, which
 * closes it.
 */
final class AcceptBound implements SelectorManager.AcceptListener {
  private static final int MOST = 32;

  /**
   * A selector that opens nothing for this long does not stop the acceptor, nor the daemon's end.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Semaphore permits;
  private final Duration patience;

  /** Connections that proceeded without a permit, and so have none to release. */
  private final AtomicInteger withoutPermit = new AtomicInteger();

  AcceptBound() {
    this(MOST, PATIENCE);
  }

  AcceptBound(int most, Duration patience) {
    permits = new Semaphore(most);
    this.patience = patience;
  }

  @Override
  public void onAccepting(SelectableChannel channel) {
    boolean hasPermit = false;
    try {
      hasPermit = permits.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (!hasPermit) {
      withoutPermit.incrementAndGet();
    }
  }

  @Override
  public void onAccepted(SelectableChannel channel) {
    release();
  }

  @Override
  public void onAcceptFailed(SelectableChannel channel, Throwable cause) {
    release();
  }

  /** Returns how many more may be opening now. */
  int permits() {
    return permits.availablePermits();
  }

  private void release() {
    if (withoutPermit.getAndUpdate(count -> Math.max(0, count - 1)) == 0) {
      permits.release();
    }
  }
}
