package dev.ebb.cli;

import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
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
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import sun.misc.Signal;

/** A command with a terminal, shown on ours, which is raw meanwhile. */
final class TerminalAttachment {
  private static final int CHUNK = 4096;
  private static final Terminal.Size OTHERWISE = new Terminal.Size(24, 80);

  private TerminalAttachment() {}

  /**
   * Starts it and returns its exit code.
   *
   * @param leaving is done when a signal ends us
   */
  static int run(Execs execs, ExecRequest request, boolean input, Runnable leaving)
      throws IOException {
    if (input && !Terminal.isAt(Terminal.Stream.STDIN)) {
      throw new IOException("the input is not a terminal; leave -t out");
    }
    Exec exec = execs.start(request.withTerminal(size()));
    try (var scope = new Scope();
        TerminalSession session = execs.terminal(exec.number())) {
      if (input) {
        Terminal.raw(scope);
        pumpInput(session);
      }
      catchSignals(scope, session, leaving);
      return code(execs, exec, show(session));
    } catch (KernelException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private static int code(Execs execs, Exec exec, Optional<Exec> ended) throws IOException {
    Exec last = ended.isPresent() ? ended.get() : execs.inspect(exec.number());
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

  private static void catchSignals(Scope scope, TerminalSession session, Runnable leaving) {
    Signal.handle(new Signal("WINCH"), signal -> resize(session));
    for (String name : List.of("INT", "TERM", "HUP")) {
      Signal.handle(new Signal(name), signal -> leave(scope, session, leaving, signal));
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
  private static void leave(Scope scope, TerminalSession session, Runnable leaving, Signal signal) {
    try {
      scope.close();
    } catch (KernelException e) {
      System.err.println("ebb: " + e.getMessage());
    }
    session.close();
    leaving.run();
    Runtime.getRuntime().halt(128 + signal.getNumber());
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
