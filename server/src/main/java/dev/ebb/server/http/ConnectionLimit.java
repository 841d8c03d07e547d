package dev.ebb.server.http;

import java.util.function.IntSupplier;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.server.ConnectionMetaData;

/**
 * Bounds the connections to the unix socket, apart from those over TCP: its owner gets in however
 * many of those there are. A connection beyond the bound may send one request, which is refused
 * with a message; one far beyond it is closed.
 */
final class ConnectionLimit implements Connection.Listener {
  /** Connections may take this fraction of all descriptors. */
  private static final int SHARE_OF_DESCRIPTORS = 4;

  private static final int WORDS_MILLIS = 5_000;

  private final IntSupplier connections;
  private final int most;
  private final int limit;

  /**
   * Makes a limit for one listener.
   *
   * @param connections how many there are, including the one just opened
   * @param most how many are served
   */
  ConnectionLimit(IntSupplier connections, int most) {
    this.connections = connections;
    this.most = most;
    limit = most + Math.max(1, most / 4);
  }

  /** Returns the wanted number, or the most that {@code descriptors} allow. */
  static int most(int wanted, long descriptors) {
    return (int) Math.max(1, Math.min(wanted, descriptors / SHARE_OF_DESCRIPTORS));
  }

  @Override
  public void onOpened(Connection connection) {
    if (!(connection instanceof ConnectionMetaData http)) {
      return;
    }
    int count = connections.getAsInt();
    if (count > limit) {
      connection.getEndPoint().close();
    } else if (count > most) {
      http.setAttribute(Guests.TOO_MANY, most);
      connection.getEndPoint().setIdleTimeout(WORDS_MILLIS);
    }
  }
}
