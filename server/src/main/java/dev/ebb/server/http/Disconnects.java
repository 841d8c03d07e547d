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
 * Tells of callers who wait for the begin of an answer whether they have hung up. While a request
 * is attended to Jetty does not read on; so a selector of our own looks, and takes nothing of what
 * has come. It never waits, and needs no thread. Thread-safe.
 */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class Disconnects implements AutoCloseable {
  /** KERNEL: over TCP the first word to one who is gone succeeds, and is answered by an RST. */
  private static final int WORDS = 2;

  private static final long WORD_SECONDS = 1;

  private final OrderedLock lock = new OrderedLock(LockOrder.DEPARTURES);

  @GuardedBy("lock")
  private final Selector selector;

  public Disconnects() throws IOException {
    selector = Selector.open();
  }

  /** Watches one from the first time that somebody wants to know. */
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

  /** One request; for one thread. */
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
      isOver = isOver || (words < WORDS && isThereSomething() && !isHeard());
      return isOver;
    }

    /** An end, or what should have waited for an answer. */
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

    /** A word that clients skip. */
    private boolean isHeard() {
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
        return; // mostly: nobody wanted to know
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
