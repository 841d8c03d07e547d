package dev.ebb.server;

import java.nio.channels.SelectableChannel;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.server.AbstractConnector;

/**
 * Bounds the connections that are accepted and not open yet. The thread that accepts is faster than
 * those that open: without a bound a flood takes every descriptor before {@link Guests} sees it.
 * Excess connections stay in the listen backlog.
 */
final class AcceptBound implements SelectorManager.AcceptListener {
  private static final int MOST = 32;

  private final AbstractConnector connector;
  private final AtomicInteger opening = new AtomicInteger();

  AcceptBound(AbstractConnector connector) {
    this.connector = connector;
  }

  @Override
  public void onAccepting(SelectableChannel channel) {
    if (opening.incrementAndGet() >= MOST) {
      connector.setAccepting(false);
      // RACE: all of them may have been opened before this, and none would tell of it again.
      if (opening.get() < MOST) {
        connector.setAccepting(true);
      }
    }
  }

  @Override
  public void onAccepted(SelectableChannel channel) {
    opened();
  }

  @Override
  public void onAcceptFailed(SelectableChannel channel, Throwable cause) {
    opened();
  }

  private void opened() {
    if (opening.decrementAndGet() < MOST && !connector.isAccepting()) {
      connector.setAccepting(true);
    }
  }
}
