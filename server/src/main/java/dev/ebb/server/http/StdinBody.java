package dev.ebb.server.http;

import dev.ebb.server.service.TenantExec;
import java.io.InputStream;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/** A body that is read while a command runs; fails once the command has ended and no bytes wait. */
public final class StdinBody implements Content.Source, AutoCloseable {
  private final Content.Source body;
  private final TenantExec exec;
  private final Runnable wake = this::wake;
  private final AtomicReference<@Nullable Runnable> waiting = new AtomicReference<>();

  StdinBody(Content.Source body, TenantExec exec) {
    this.body = body;
    this.exec = exec;
    exec.whenEnded(wake);
  }

  public InputStream content() {
    return Content.Source.asInputStream(this);
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
