package dev.ebb.server;

import dev.ebb.model.SandboxException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import sun.misc.Signal;

/** Runs the daemon until it is asked to stop. */
final class Serving {
  private static final int OWN_FAILURE = 125;

  private Serving() {}

  static int run(Settings settings, LogOutput log, boolean untilEof) throws InterruptedException {
    // ORDER: before anything is logged.
    log.install();
    var wanted = new CountDownLatch(1);
    for (String name : List.of("TERM", "INT")) {
      Signal.handle(new Signal(name), signal -> wanted.countDown());
    }
    if (untilEof) {
      Thread.ofPlatform().name("ebb-stdin").daemon().start(() -> awaitEof(wanted));
    }
    try (var daemon = Daemon.start(settings)) {
      System.out.println("ebb: serving on " + daemon.socket() + address(settings, daemon));
      if (settings.rehearses()) {
        daemon.rehearse();
      }
      wanted.await();
      System.out.println("ebb: ending every box");
    } catch (InterruptedException | SandboxException e) {
      throw e;
    } catch (Exception e) {
      System.err.println("ebb: cannot serve: " + e.getMessage());
      return OWN_FAILURE;
    }
    System.out.println("ebb: down");
    return 0;
  }

  /**
   * The parent process holds the other end of a pipe; reading fails or ends when the parent dies.
   */
  private static void awaitEof(CountDownLatch wanted) {
    try (var in = new FileInputStream(FileDescriptor.in)) {
      while (in.read() >= 0) {}
    } catch (IOException e) {
      // A failed read means the end, too.
    }
    wanted.countDown();
  }

  private static String address(Settings settings, Daemon daemon) {
    return settings
        .listen()
        .map(
            address ->
                " and %s://%s:%d"
                    .formatted(
                        settings.tls().isPresent() ? "https" : "http",
                        address.getHostString(),
                        daemon.port()))
        .orElse("");
  }
}
