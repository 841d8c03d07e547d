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
 * One request while it is attended to. Its own thread waits by it for whatever takes time; others
 * may cancel it. A client that goes away takes the command along, as one that cancels does.
 */
final class Call implements RunClient {
  /** By which a tool finds it in what the SDK hands on. */
  static final String KEY = "dev.ebb.mcp.call";

  private final Session session;
  private final Exchange exchange;
  private final Answer answer;
  private final Lock lock = DoorLock.CALL.make();

  /** Ends what runs. */
  @GuardedBy("lock")
  private @Nullable Runnable stop;

  private volatile boolean isCancelled;
  private @Nullable Reporter reporter;

  /** The box that it works with. */
  private @Nullable TenantBox subject;

  /** Notes the box that it works with, and gives it back. */
  TenantBox about(TenantBox box) {
    subject = box;
    return box;
  }

  /** What to tell when it failed: its box may have ended under it. */
  Problem meanwhile(SandboxException failure) {
    return subject != null && subject.meanwhile(failure) instanceof SandboxException known
        ? Problem.of(known)
        : Problem.of(failure);
  }

  /** It was cancelled: nobody wants to hear more. */
  static final class Cancelled extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Cancelled() {
      super("cancelled", null, false, false);
    }
  }

  /** The caller has gone, or cannot be told any more. */
  static final class Gone extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Gone(IOException cause) {
      super(cause);
    }
  }

  /** Who wants to know how far it is. */
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

  /** Progress is told to this client from now on. */
  void report(McpSyncServerExchange client, Object token) {
    reporter = new Reporter(client, token, System.nanoTime());
  }

  /** By any thread. What runs is killed by the ladder. */
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

  /** Memory for what is to be answered, until that has happened. */
  @Override
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return exchange.hasRoomFor(bytes);
  }

  /** The memory of what is kept of its body for longer. */
  @Override
  public TenantMemory.Claim keep(byte[] bytes) {
    return exchange.keep(bytes);
  }

  boolean isCancelled() {
    return isCancelled;
  }

  /** Whether there is nobody left who waits for it. */
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

  /** RACE: a cancellation comes before this, and is seen here, or after, and sees what runs. */
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

  /** A word a second, or nobody would notice that the caller has gone. */
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
      // What the SDK makes of a word that did not get through.
      answer.requireHeard();
      throw e;
    }
    answer.requireHeard();
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
