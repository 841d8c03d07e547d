package dev.ebb.server.http;

import dev.ebb.kernel.ProcessClock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.ConnectionMetaData;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * Closes a connection whose peer takes too long to send the head of a request, or to finish the TLS
 * handshake: each byte restarts the idle timeout, so that alone does not help. A connection that
 * sends nothing is just idle.
 */
final class HeaderTimeout implements Connection.Listener {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration ROUND = Duration.ofSeconds(2);

  private final Scheduler scheduler;
  private final Duration patience;
  private final Duration round;
  private final Map<Connection, Watch> watched = new ConcurrentHashMap<>();

  HeaderTimeout(Scheduler scheduler) {
    this(scheduler, PATIENCE, ROUND);
  }

  HeaderTimeout(Scheduler scheduler, Duration patience, Duration round) {
    this.scheduler = scheduler;
    this.patience = patience;
    this.round = round;
  }

  @Override
  public void onOpened(Connection connection) {
    boolean isHttp = connection instanceof ConnectionMetaData;
    if (isHttp || connection instanceof SslConnection) {
      var watch = new Watch(connection);
      watched.put(connection, watch);
      watch.again();
    }
  }

  @Override
  public void onClosed(Connection connection) {
    Watch watch = watched.remove(connection);
    if (watch != null) {
      watch.next.cancel();
    }
  }

  /** Looks at one connection now and then. */
  private final class Watch implements Runnable {
    private final Connection connection;
    private long heads;
    private long bytes;
    private long since = ProcessClock.nanos();
    private volatile Scheduler.Task next = () -> false;

    Watch(Connection connection) {
      this.connection = connection;
      heads = connection.getMessagesIn();
    }

    private void again() {
      next = scheduler.schedule(this, round.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void run() {
      if (isSlow(ProcessClock.nanos())) {
        connection.getEndPoint().close();
      } else if (watched.get(connection) == this) {
        again();
      }
    }

    /** Returns whether a head was begun too long ago and is still incomplete. */
    private boolean isSlow(long now) {
      if (heads != connection.getMessagesIn() || !isBetweenRequests()) {
        heads = connection.getMessagesIn();
        bytes = connection.getBytesIn();
        since = now;
      } else if (connection.getBytesIn() == bytes) {
        since = now;
      }
      return now - since > patience.toNanos();
    }

    private boolean isBetweenRequests() {
      return connection instanceof SslConnection tls
          ? tls.getSSLEngine().getSession().getProtocol().equals("NONE")
          : connection.getMessagesOut() == heads;
    }
  }
}
