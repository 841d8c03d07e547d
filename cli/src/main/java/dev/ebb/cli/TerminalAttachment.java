package dev.ebb.cli;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.Execs;
import dev.ebb.client.Output;
import dev.ebb.client.TerminalSession;
import dev.ebb.client.TerminalSize;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;

/**
 * A command with a terminal, shown on ours, which is raw meanwhile. It ends with us: nobody could
 * see it any more.
 */
final class TerminalAttachment {
  private static final int CHUNK = 4096;
  private static final Terminal.Size OTHERWISE = new Terminal.Size(24, 80);

  private final EbbClient client;
  private final Duration grace;
  private final Scope scope = new Scope();

  @GuardedBy("this")
  private @Nullable Exec exec;

  TerminalAttachment(EbbClient client, Duration grace) {
    this.client = client;
    this.grace = grace;
  }

  /** How it is started, for a terminal of this size. */
  interface Start {
    Exec start(TerminalSize size) throws IOException;
  }

  /**
   * Starts it and returns its exit code.
   *
   * @param after is done to it when it has ended, whatever ended it
   */
  int run(Start start, boolean input, Consumer<Exec> after) throws IOException {
    if (input && !Terminal.isAt(Terminal.Stream.STDIN)) {
      throw new IOException("the input is not a terminal; leave -t out");
    }
    try (scope) {
      // ORDER: signals, raw mode, start: no Ctrl-C may end us and leave the command.
      catchSignals(after);
      if (input) {
        Terminal.raw(scope);
      }
      Exec started = start(start);
      try {
        return attach(started, input);
      } finally {
        after.accept(started);
      }
    } catch (KernelException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** RACE: whoever is signalled meanwhile waits, and then knows what to end. */
  private synchronized Exec start(Start start) throws IOException {
    Exec started = start.start(size());
    exec = started;
    return started;
  }

  private Execs execs(Exec started) {
    return client.execs(started.box());
  }

  private int attach(Exec started, boolean input) throws IOException {
    try (TerminalSession session = execs(started).terminal(started.number())) {
      Signal.handle(new Signal("WINCH"), signal -> resize(session));
      if (input) {
        pumpInput(session);
      }
      return code(started, show(session));
    } catch (IOException e) {
      end(started);
      throw e;
    }
  }

  private int code(Exec started, Optional<Exec> ended) throws IOException {
    Exec last = ended.isPresent() ? ended.get() : execs(started).inspect(started.number());
    return Attachment.code(last.exitCode());
  }

  private static TerminalSize size() {
    Terminal.Size size = Terminal.size(Terminal.Stream.STDOUT).orElse(OTHERWISE);
    return new TerminalSize(size.rows(), size.columns());
  }

  private static Optional<Exec> show(TerminalSession session) throws IOException {
    var out = new FileOutputStream(FileDescriptor.out);
    for (Optional<Output> output = session.read(); output.isPresent(); output = session.read()) {
      out.write(output.get().bytes());
    }
    return session.ended();
  }

  private void catchSignals(Consumer<Exec> after) {
    for (String name : List.of("INT", "TERM", "HUP")) {
      Signal.handle(new Signal(name), signal -> leave(after, signal));
    }
  }

  private static void resize(TerminalSession session) {
    try {
      session.resize(size());
    } catch (IOException e) {
      // It has ended; the reader finds out.
    }
  }

  /** The terminal is given back first: what comes after may take its time. */
  private synchronized void leave(Consumer<Exec> after, Signal signal) {
    try {
      scope.close();
    } catch (KernelException e) {
      System.err.println("ebb: " + e.getMessage());
    }
    if (exec != null) {
      end(exec);
      after.accept(exec);
    }
    Runtime.getRuntime().halt(128 + signal.getNumber());
  }

  private void end(Exec running) {
    try {
      execs(running).kill(running.number(), grace);
    } catch (IOException e) {
      System.err.println("ebb: " + DaemonFailure.words(e));
    }
  }

  /** Copies our keys; the thread ends with the process, which is why nobody waits for it. */
  private static void pumpInput(TerminalSession session) {
    Thread.ofPlatform()
        .name("ebb-stdin")
        .daemon()
        .start(
            () -> {
              byte[] chunk = new byte[CHUNK];
              try (var in = new FileInputStream(FileDescriptor.in)) {
                for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                  session.write(Arrays.copyOf(chunk, n));
                }
              } catch (IOException e) {
                // It has ended; the reader finds out.
              }
            });
  }
}
