package dev.ebb.server.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.jspecify.annotations.Nullable;

/**
 * Detects callers that hang up before their answer begins. Jetty does not read while a request is
 * handled, so a separate selector watches the connection and leaves the bytes there. It never
 * waits, and needs no thread. Thread-safe.
 */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class Disconnects implements AutoCloseable {
  /** KERNEL: over TCP the first write to a closed peer succeeds, and is answered by an RST. */
  private static final int WORDS = 2;

  private static final long WORD_SECONDS = 1;

  private final OrderedLock lock = new OrderedLock(LockOrder.DEPARTURES);

  @GuardedBy("lock")
  private final Selector selector;

  public Disconnects() throws IOException {
    selector = Selector.open();
  }

  /** Watches a request from the first time that its handler asks. */
  Watch watch(Request request, Response response) {
    return new Watch(request, response);
  }

  @Override
  public void close() {
    lock.lock();
    try {
      selector.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      lock.unlock();
    }
  }

  /** One watched request; for one thread. */
  final class Watch implements AutoCloseable {
    private final Request request;
    private final Response response;
    private @Nullable SelectionKey key;
    private int words;
    private boolean isOver;

    private Watch(Request request, Response response) {
      this.request = request;
      this.response = response;
    }

    boolean isOver() {
      isOver = isOver || (words < WORDS && isThereSomething() && !isConnected());
      return isOver;
    }

    /** Returns whether there is an end of stream, or a pipelined request. */
    private boolean isThereSomething() {
      lock.lock();
      try {
        if (key == null) {
          key = register();
        }
        selector.selectNow();
        selector.selectedKeys().clear();
        return key != null && (!key.isValid() || key.isReadable());
      } catch (ClosedChannelException | ClosedSelectorException e) {
        return true;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } finally {
        lock.unlock();
      }
    }

    @GuardedBy("lock")
    private @Nullable SelectionKey register() throws ClosedChannelException {
      Object transport = request.getConnectionMetaData().getConnection().getEndPoint();
      while (transport instanceof EndPoint endPoint) {
        transport = endPoint.getTransport();
      }
      return transport instanceof SocketChannel channel
          ? channel.register(selector, SelectionKey.OP_READ)
          : null;
    }

    /** Sends an interim response, which clients skip; returns whether it could be sent. */
    private boolean isConnected() {
      words++;
      try {
        response
            .writeInterim(HttpStatus.PROCESSING_102, HttpFields.EMPTY)
            .get(WORD_SECONDS, TimeUnit.SECONDS);
        return true;
      } catch (ExecutionException | TimeoutException e) {
        return false;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return true;
      }
    }

    /** KERNEL: a channel stays open as long as a selector knows it. */
    @Override
    public void close() {
      SelectionKey known = key;
      if (known == null) {
        return; // in most cases: the handler never asked
      }
      lock.lock();
      try {
        if (selector.isOpen()) {
          known.cancel();
          selector.selectNow();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } finally {
        lock.unlock();
      }
    }
  }
}
