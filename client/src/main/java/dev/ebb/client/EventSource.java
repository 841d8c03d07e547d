package dev.ebb.client;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.client.http.Response;
import dev.ebb.client.http.ServerSentEvents;
import dev.ebb.json.JsonException;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ProtocolException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Events of a daemon, over as many connections as it takes. One thread reads; any may close, which
 * ends the reading.
 */
final class EventSource implements Closeable {
  private static final int ATTEMPTS = 6;
  private static final long FIRST_PAUSE_MILLIS = 50;

  private final Opening opening;
  private final int attempts;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition closing = lock.newCondition();

  @GuardedBy("lock")
  private boolean closed;

  private volatile ServerSentEvents events;
  private String lastId;

  /** Asks for the events after one. */
  interface Opening {
    Response open(String lastId) throws IOException;
  }

  private EventSource(Opening opening, Response first, String lastId, int attempts) {
    this.opening = opening;
    this.attempts = attempts;
    this.lastId = lastId;
    events = new ServerSentEvents(first.body());
  }

  /** Goes on after the last event seen when the connection breaks. */
  static EventSource resuming(Opening opening, String lastId) throws IOException {
    return new EventSource(opening, opening.open(lastId), lastId, ATTEMPTS);
  }

  /** Ends with its connection. */
  static EventSource once(Response response) {
    return new EventSource(id -> response, response, "", 0);
  }

  ServerSentEvents.Event next() throws IOException {
    IOException broken = null;
    for (int attempt = 0; ; attempt++) {
      try {
        if (broken != null) {
          reopen();
        }
        Optional<ServerSentEvents.Event> event = events.next();
        if (event.isPresent()) {
          lastId = event.get().id().isEmpty() ? lastId : event.get().id();
          return event.get();
        }
        broken = new EOFException("the event stream ended early");
      } catch (EbbException | JsonException | ProtocolException e) {
        throw e;
      } catch (IOException e) {
        broken = e;
      }
      if (attempt == attempts || !pause(attempt)) {
        throw broken;
      }
    }
  }

  /** False when it was closed meanwhile. */
  private boolean pause(int attempt) throws IOException {
    lock.lock();
    try {
      long nanos = TimeUnit.MILLISECONDS.toNanos(FIRST_PAUSE_MILLIS << attempt);
      while (!closed && nanos > 0) {
        nanos = closing.awaitNanos(nanos);
      }
      return !closed;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reconnecting");
    } finally {
      lock.unlock();
    }
  }

  private void reopen() throws IOException {
    events.close();
    var again = new ServerSentEvents(opening.open(lastId).body());
    lock.lock();
    try {
      events = again;
      if (!closed) {
        return;
      }
    } finally {
      lock.unlock();
    }
    again.close();
  }

  @Override
  public void close() throws IOException {
    lock.lock();
    try {
      closed = true;
      closing.signalAll();
    } finally {
      lock.unlock();
    }
    events.close();
  }
}
