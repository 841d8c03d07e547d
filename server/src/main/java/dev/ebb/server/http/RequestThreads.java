package dev.ebb.server.http;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import org.eclipse.jetty.util.VirtualThreads;
import org.eclipse.jetty.util.thread.ThreadPool;
import org.eclipse.jetty.util.thread.TryExecutor;

/**
 * A virtual thread for each task of Jetty. Jetty's own pool of virtual threads also keeps a thread
 * of the kernel, which only waits; it would count as a PID. Thread-safe.
 */
final class RequestThreads implements ThreadPool, TryExecutor, VirtualThreads.Configurable {
  private final ThreadFactory threads = Thread.ofVirtual().name("ebb-http-", 0).factory();

  @Override
  public void execute(Runnable task) {
    threads.newThread(task).start();
  }

  @Override
  public boolean tryExecute(Runnable task) {
    execute(task);
    return true;
  }

  @Override
  public Executor getVirtualThreadsExecutor() {
    return this;
  }

  /** The threads have no end to wait for. */
  @Override
  public void join() {
    throw new UnsupportedOperationException();
  }

  /** Virtual threads are not counted. */
  @Override
  public int getThreads() {
    return 0;
  }

  @Override
  public int getIdleThreads() {
    return 0;
  }

  @Override
  public boolean isLowOnThreads() {
    return false;
  }
}
