package dev.ebb.server.http;

import dev.ebb.kernel.Deadline;
import dev.ebb.server.service.TenantExec;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/** A body that is read while a command runs; fails once the command has ended and no bytes wait. */
public final class StdinBody implements Content.Source, AutoCloseable {
  /** How long the end of the input may come after the end of the command. */
  private static final Duration END_BOUND = Duration.ofSeconds(2);

  private static final Duration LOOK = Duration.ofMillis(10);

  private final Content.Source body;
  private final TenantExec exec;
  private final Runnable wake = this::wake;
  private final AtomicReference<@Nullable Runnable> waiting = new AtomicReference<>();
  private Deadline end = Deadline.never(); // for the reader alone

  StdinBody(Content.Source body, TenantExec exec) {
    this.body = body;
    this.exec = exec;
    exec.whenEnded(wake);
  }

  public InputStream content() {
    return Content.Source.asInputStream(this);
  }

  /**
   * Waits a little, after the command has ended and no bytes wait; returns false if the end of the
   * input is overdue.
   *
   * <p>RACE: the end of input that the command has taken may come after the end of the command.
   */
  public boolean mayEndYet() {
    end = end.sooner(END_BOUND);
    return end.pause(LOOK);
  }

  @Override
  public long getLength() {
    return body.getLength();
  }

  @Override
  public Content.@Nullable Chunk read() {
    Content.Chunk chunk = body.read();
    return chunk == null && !exec.isRunning()
        ? Content.Chunk.from(new TimeoutException("the command has ended"), false)
        : chunk;
  }

  @Override
  public void demand(Runnable callback) {
    waiting.set(callback);
    body.demand(wake);
    if (!exec.isRunning()) {
      wake();
    }
  }

  private void wake() {
    Runnable callback = waiting.getAndSet(null);
    if (callback != null) {
      callback.run();
    }
  }

  @Override
  public void fail(Throwable failure) {
    body.fail(failure);
  }

  @Override
  public void close() {
    exec.callOff(wake);
  }
}
