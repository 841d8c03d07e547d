package dev.ebb.mcp;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.DoorLock;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.RunClient;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.access.TenantMemory;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import java.io.IOException;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * One request while it is handled. Its own thread waits for slow operations; other threads may
 * cancel it. A client that disconnects cancels the command, like a client that sends a
 * cancellation.
 */
final class Call implements RunClient {
  /** The key under which a tool finds its call in the context that the SDK passes on. */
  static final String KEY = "dev.ebb.mcp.call";

  private final Session session;
  private final Exchange exchange;
  private final Answer answer;
  private final Lock lock = DoorLock.CALL.make();

  /** Ends the running operation. */
  @GuardedBy("lock")
  private @Nullable Runnable stop;

  private volatile boolean isCancelled;
  private @Nullable Reporter reporter;

  /** The box that the call works with. */
  private @Nullable TenantBox subject;

  /** Notes the box that the call works with, and returns it. */
  TenantBox about(TenantBox box) {
    subject = box;
    return box;
  }

  /** Makes the problem to report for a failure: the box may have ended meanwhile. */
  Problem meanwhile(SandboxException failure) {
    return subject != null && subject.meanwhile(failure) instanceof SandboxException known
        ? Problem.of(known)
        : Problem.of(failure);
  }

  /** The call was cancelled; its client wants no more messages. */
  static final class Cancelled extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Cancelled() {
      super("cancelled", null, false, false);
    }
  }

  /** The caller has disconnected, or cannot be reached any more. */
  static final class Gone extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Gone(IOException cause) {
      super(cause);
    }
  }

  /** The client that asked for progress. */
  private record Reporter(McpSyncServerExchange client, Object token, long since) {}

  Call(Session session, Exchange exchange, Answer answer) {
    this.session = session;
    this.exchange = exchange;
    this.answer = answer;
  }

  Session session() {
    return session;
  }

  Answer answer() {
    return answer;
  }

  /** Reports progress to this client from now on. */
  void report(McpSyncServerExchange client, Object token) {
    reporter = new Reporter(client, token, System.nanoTime());
  }

  /** Cancels the call; a running command is killed by the ladder. Any thread may call this. */
  void cancel() {
    Runnable end;
    lock.lock();
    try {
      isCancelled = true;
      end = stop;
    } finally {
      lock.unlock();
    }
    answer.silence();
    if (end != null) {
      end.run();
    }
  }

  /** Waits for memory for the answer, which is released when the answer was sent. */
  @Override
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return exchange.hasRoomFor(bytes);
  }

  /** Claims memory for the part of the request's body that is kept longer. */
  @Override
  public TenantMemory.Claim keep(byte[] bytes) {
    return exchange.keep(bytes);
  }

  boolean isCancelled() {
    return isCancelled;
  }

  /** Returns whether the caller has disconnected. */
  @Override
  public boolean hasLeft() {
    return isCancelled || exchange.hasLeft();
  }

  @Override
  public void requireWanted() {
    if (isCancelled) {
      throw new Cancelled();
    }
  }

  /** RACE: a cancellation comes before this and is seen here, or after this and sees what runs. */
  @Override
  public void stopBy(@Nullable Runnable end) {
    boolean isTooLate;
    lock.lock();
    try {
      stop = end;
      isTooLate = isCancelled;
    } finally {
      lock.unlock();
    }
    if (isTooLate && end != null) {
      end.run();
    }
  }

  /** Sends a heartbeat a second; without them a disconnected caller would not be noticed. */
  void beat() throws IOException {
    answer.beat();
  }

  @Override
  public void beat(Progress run) throws IOException {
    Reporter to = reporter;
    if (to == null || isCancelled) {
      answer.beat();
      return;
    }
    try {
      to.client().progressNotification(notification(to, run));
    } catch (RuntimeException e) {
      // The exception that the SDK makes when a message could not be sent.
      answer.requireSent();
      throw e;
    }
    answer.requireSent();
  }

  private static ProgressNotification notification(Reporter to, Progress run) {
    double seconds = (System.nanoTime() - to.since()) / 1e9;
    var progress =
        ProgressNotification.builder(to.token(), seconds)
            .message(
                "running for %.0f s, %d bytes of output".formatted(seconds, run.outputBytes()));
    if (!run.timeout().isZero()) {
      progress.total(run.timeout().toMillis() / 1e3);
    }
    return progress.build();
  }
}
