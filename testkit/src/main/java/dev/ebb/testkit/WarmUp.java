package dev.ebb.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;

/**
 * Makes the JDK open what it opens once and keeps for good, so that it lies in every baseline: then
 * nothing of a kind needs to be tolerated, and one leaked descriptor of ours is seen.
 */
final class WarmUp {
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
  private static void waitForASocketOnAVirtualThread() throws InterruptedException {
    Thread.ofVirtual().name("warm-up").start(WarmUp::waitForASocket).join();
  }

  private static void waitForASocket() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      socket.setSoTimeout(1);
      socket.accept().close();
    } catch (SocketTimeoutException e) {
      // What we came for.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void runAChild() throws IOException, InterruptedException {
    new ProcessBuilder("true").start().waitFor();
  }
}
