package dev.ebb.cli.front;

import dev.ebb.cli.Main;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.engine.Handover;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Runs the commands of fronts: the classes that a JVM of its own would run, too. */
public final class FrontCommands implements Handover {
  private static final Logger LOG = System.getLogger(FrontCommands.class.getName());

  /** How long a front may take to say what it wants. */
  private static final Duration HELLO_PATIENCE = Duration.ofSeconds(10);

  /** How long the threads of a command may take to end when its front has gone. */
  private static final Duration END_PATIENCE = Duration.ofSeconds(10);

  @Override
  public void serve(SocketChannel channel, String build) throws InterruptedException {
    var wire = new FrontWire(channel);
    try {
      Optional<FrontCaller> caller = greet(wire, build);
      if (caller.isPresent()) {
        serve(wire, caller.get());
      }
    } catch (IOException e) {
      // It has gone, or is no front: nothing has begun.
    } finally {
      wire.close();
    }
  }

  /** Returns the caller of a command that is to be run; it has begun in a thread of its own. */
  private static Optional<FrontCaller> greet(FrontWire wire, String build) throws IOException {
    var greeted = new CountDownLatch(1);
    Thread.ofVirtual().name("ebb-front-hello").start(() -> closeLate(wire, greeted));
    try {
      Hello hello = Hello.parse(receive(wire, FrontProtocol.FRONT_HELLO));
      Optional<Charset> charset = hello.charset();
      String[] arguments = hello.arguments().toArray(String[]::new);
      if (!hello.build().equals(build) || charset.isEmpty() || !Main.isForDaemon(arguments)) {
        wire.send(FrontProtocol.DAEMON_REFUSES);
        return Optional.empty();
      }
      wire.send(FrontProtocol.DAEMON_READY);
      // ORDER: a front that does not wait any more runs the command by itself.
      receive(wire, FrontProtocol.FRONT_GO);
      var caller = FrontCaller.of(wire, hello, charset.get());
      caller.start("ebb-front-command", () -> run(caller, arguments));
      return Optional.of(caller);
    } finally {
      greeted.countDown();
    }
  }

  private static byte[] receive(FrontWire wire, char kind) throws IOException {
    FrontWire.Message message = wire.receive(FrontProtocol.FRONT_HELLO_MOST);
    if (message.kind() != kind) {
      throw new IOException("expected " + kind + ", received " + message.kind());
    }
    return message.content();
  }

  private static void closeLate(FrontWire wire, CountDownLatch greeted) {
    try {
      if (!greeted.await(HELLO_PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        wire.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void run(FrontCaller caller, String... arguments) {
    int code = ExitCode.OWN_FAILURE;
    try {
      code = Main.run(caller, arguments);
    } catch (RuntimeException e) {
      caller.err().println("ebb: internal error: " + e);
      LOG.log(Level.WARNING, "event=front_command_failed", e);
    }
    caller.end(code);
  }

  /** Takes messages until the front has gone, and then ends what is left of its command. */
  private static void serve(FrontWire wire, FrontCaller caller) throws InterruptedException {
    try {
      while (true) {
        caller.take(wire.receive(FrontProtocol.FRONT_CHUNK));
      }
    } catch (IOException e) {
      // It has gone; or it does not keep to the protocol, and is to go.
    }
    wire.close();
    if (!caller.abandon(END_PATIENCE)) {
      LOG.log(Level.WARNING, "event=front_command_stays");
    }
  }
}
