package dev.ebb.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes the JDK open what it opens once and keeps for good, so that it lies in every baseline: then
 * nothing of a kind needs to be tolerated, and one leaked descriptor of ours is seen.
 */
final class WarmUp {
  private static final int PATIENCE_MILLIS = 30_000;
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

  @GuardedBy("WarmUp.class")
  private static boolean done;

  private WarmUp() {}

  static synchronized void once() {
    if (done) {
      return;
    }
    try {
      // ORDER: before anything is started that could fall out of our tree.
      Self.becomeSubreaper();
      waitForASocketOnAVirtualThread();
      runAChild();
      done = true;
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * The epoll sets and thread of the JDK's poller, carriers, timers, the socket for pre-closing.
   */
  private static void waitForASocketOnAVirtualThread() throws IOException, InterruptedException {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      server.setSoTimeout(PATIENCE_MILLIS);
      Thread waiting = Thread.ofVirtual().name("warm-up").start(() -> accept(server));
      // Only a thread that is parked, and for a time, has needed all of it.
      while (waiting.isAlive() && waiting.getState() != Thread.State.TIMED_WAITING) {
        LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      }
      new Socket(server.getInetAddress(), server.getLocalPort()).close();
      waiting.join();
    }
  }

  private static void accept(ServerSocket server) {
    try {
      server.accept().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void runAChild() throws IOException, InterruptedException {
    new ProcessBuilder("true").start().waitFor();
  }
}
