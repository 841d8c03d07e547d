package dev.ebb.server;

import dev.ebb.box.SandboxException;
import dev.ebb.engine.Engine;
import java.util.concurrent.CountDownLatch;
import sun.misc.Signal;

/** The daemon as a process: up until somebody wants it down. */
public final class Serve {
  private static final int OWN_FAILURE = 125;

  private Serve() {}

  public static void main(String[] args) throws InterruptedException {
    Runtime.getRuntime().halt(run());
  }

  static int run() throws InterruptedException {
    var wanted = new CountDownLatch(1);
    for (String name : new String[] {"TERM", "INT"}) {
      Signal.handle(new Signal(name), signal -> wanted.countDown());
    }
    try (var daemon = Daemon.start(Settings.of(Engine.defaultHome()))) {
      System.out.println("ebb: serving on " + daemon.socket());
      wanted.await();
      System.out.println("ebb: going down");
    } catch (InterruptedException e) {
      throw e;
    } catch (SandboxException e) {
      System.err.println("ebb: " + e.getMessage());
      return OWN_FAILURE;
    } catch (Exception e) {
      System.err.println("ebb: cannot serve: " + e);
      return OWN_FAILURE;
    }
    return 0;
  }
}
