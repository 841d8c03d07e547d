package dev.ebb.client.http;

import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;

/** Sends requests to one server, each on a connection of its own while it lasts. Thread-safe. */
public final class HttpTransport implements Closeable {
  private static final Duration CONNECT_PATIENCE = Duration.ofSeconds(10);

  /** For the answer of a server that refused to read a whole request. */
  private static final Duration EARLY_PATIENCE = Duration.ofSeconds(2);

  private final Endpoint endpoint;
  private final Watchdog watchdog;
  private final Pool pool = new Pool();

  public HttpTransport(Endpoint endpoint) {
    this(endpoint, Thread::new);
  }

  /** Sends requests; {@code threads} makes the thread that ends calls that last too long. */
  public HttpTransport(Endpoint endpoint, ThreadFactory threads) {
    this.endpoint = endpoint;
    watchdog = new Watchdog(threads);
  }

  public Endpoint endpoint() {
    return endpoint;
  }

  /**
   * Connects now, for the next request; throws {@link java.net.ConnectException} if there is no
   * listener.
   */
  public void connect() throws IOException {
    pool.giveBack(newConnection());
  }

  private Connection newConnection() throws IOException {
    return Connection.open(endpoint, watchdog, Deadline.in(CONNECT_PATIENCE));
  }

  /**
   * Sends a request and returns when the head of the answer has arrived.
   *
   * <p>RACE: a server may close an idle connection just as we use it. Then, and only then, the
   * request is sent a second time: if it may be repeated, or nothing of it had left.
   */
  public Response send(Request request) throws IOException {
    Optional<Connection> idle = pool.borrow();
    if (idle.isPresent()) {
      Connection connection = idle.get();
      try {
        return exchange(connection, request);
      } catch (IOException e) {
        if (!mayRepeat(request, connection, e)) {
          throw e;
        }
      }
    }
    return exchange(newConnection(), request);
  }

  private static boolean mayRepeat(Request request, Connection connection, IOException failure) {
    if (connection.sent() == 0) {
      return true;
    }
    return connection.received() == 0
        && request.isIdempotent()
        && request.body().isRepeatable()
        && !(failure instanceof SocketTimeoutException);
  }

  private Response exchange(Connection connection, Request request) throws IOException {
    connection.beginExchange();
    try {
      boolean whole = write(connection, request);
      Deadline deadline = Deadline.in(whole ? request.patience() : EARLY_PATIENCE);
      ResponseHead head = ResponseHead.read(connection, deadline);
      if (head.status() == 101) {
        throw connection.malformed("an upgrade that was not requested");
      }
      return new Response(head.status(), head.headers(), body(connection, request, head, whole));
    } catch (IOException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  /** Returns false if the server read only part of the request; its answer may give the reason. */
  private boolean write(Connection connection, Request request) throws IOException {
    var out = new RequestOutput(connection, request);
    try {
      out.head(request.head(endpoint));
      request.body().writeTo(out);
      out.finish();
      return true;
    } catch (IOException e) {
      boolean refused = e.equals(out.refusal()) && !(e instanceof SocketTimeoutException);
      if (!refused || connection.sent() == 0) {
        throw e;
      }
      return false;
    }
  }

  private InputStream body(Connection connection, Request request, ResponseHead head, boolean whole)
      throws IOException {
    Runnable giveBack =
        () -> {
          if (head.keepsAlive() && whole) {
            pool.giveBack(connection);
          } else {
            connection.close();
          }
        };
    if (request.method().equals("HEAD") || head.status() == 204 || head.status() == 304) {
      giveBack.run();
      return new ByteArrayInputStream(new byte[0]);
    }
    if (head.isChunked(connection)) {
      return new ChunkedInput(connection, request.patience(), giveBack);
    }
    long length = head.length(connection);
    return length < 0
        ? new ResponseInput.UntilClose(connection, request.patience())
        : new ResponseInput.Fixed(connection, length, request.patience(), giveBack);
  }

  /** Asks for a WebSocket on a connection of its own. */
  public Upgrade upgrade(Request request) throws IOException {
    Connection connection = newConnection();
    var handshake = new WebSocketHandshake();
    Request asking = handshake.ask(request);
    try {
      connection.beginExchange();
      write(connection, asking);
      ResponseHead head = ResponseHead.read(connection, Deadline.in(request.patience()));
      if (head.status() == 101) {
        handshake.check(connection, head.headers());
        return new Upgrade(new WebSocket(connection), null);
      }
      return new Upgrade(
          null,
          new Response(head.status(), head.headers(), body(connection, request, head, false)));
    } catch (IOException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  @Override
  public void close() {
    pool.close();
    watchdog.close();
  }
}
