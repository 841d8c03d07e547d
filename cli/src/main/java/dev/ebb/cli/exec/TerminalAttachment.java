package dev.ebb.cli.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.TerminalSession;
import dev.ebb.client.TerminalSize;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A command with a terminal, shown on ours, which is raw meanwhile. It ends when this process ends,
 * for any reason: the daemon sees that its output is no longer followed.
 */
final class TerminalAttachment {
  private static final int CHUNK = 4096;
  private static final int HANGUP = 1;
  private static final Terminal.Size OTHERWISE = new Terminal.Size(24, 80);

  /** How long to wait after the end of the command, for the end of its box. */
  private static final Duration SLACK = Duration.ofSeconds(30);

  private final Caller caller;
  private final EbbClient client;
  private final Duration grace;
  private final Scope scope = new Scope();
  private final CountDownLatch over = new CountDownLatch(1);

  @GuardedBy("this")
  private @Nullable Exec exec;

  TerminalAttachment(Caller caller, EbbClient client, Duration grace) {
    this.caller = caller;
    this.client = client;
    this.grace = grace;
  }

  /** Starts a command for a terminal of this size, and follows it. */
  interface Start {
    Following start(TerminalSize size) throws IOException;
  }

  /** Starts it and returns its exit code. */
  int run(Start start, boolean input) throws IOException {
    if (input && !caller.isTerminal(Terminal.Stream.STDIN)) {
      throw new IOException("stdin is not a terminal; omit -t");
    }
    try (scope) {
      // ORDER: signals, raw mode, start: no Ctrl-C may end us and leave the command.
      catchSignals();
      if (input) {
        caller.rawTerminal(scope);
      }
      return attach(start, input);
    } catch (KernelException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private int attach(Start start, boolean input) throws IOException {
    try (Following following = start(start)) {
      type(input);
      return show(following);
    } finally {
      over.countDown();
      giveWay();
    }
  }

  /** RACE: a signal handler waits for the lock, and then knows what to end. */
  private synchronized Following start(Start start) throws IOException {
    Following following = start.start(size());
    if (following.next().orElse(null) instanceof ExecEvent.Started(var started)) {
      exec = started;
      return following;
    }
    following.close();
    throw new IOException("the daemon did not report the start of the command");
  }

  private synchronized @Nullable Exec started() {
    return exec;
  }

  /** Returns the id of the box of the command, after {@link #run}. */
  String box() {
    return Objects.requireNonNull(started()).box();
  }

  /** RACE: if we were signalled, it is that which ends us. */
  private synchronized void giveWay() {}

  /** Waits for the end; reports a box of its own that is stuck, if that is known by then. */
  private int show(Following following) throws IOException {
    var out = caller.rawOut();
    while (true) {
      switch (following.next().orElseThrow()) {
        case ExecEvent.Started _ -> {}
        case ExecEvent.Wrote(_, var output, _) -> out.write(output.bytes());
        case ExecEvent.Lost _ -> {} // its end reports that
        case ExecEvent.Ended(var result) -> {
          var certificate = result.certificate();
          if (certificate != null && !certificate.clean()) {
            caller.err().println("ebb: " + certificate);
          }
          return ExecEnd.code(result.exec().exitCode());
        }
      }
    }
  }

  private TerminalSize size() {
    Terminal.Size size = caller.terminalSize().orElse(OTHERWISE);
    return new TerminalSize(size.rows(), size.columns());
  }

  // --- keys and sizes ---

  /** Passes keys and sizes on, unless the command has ended already. */
  private void type(boolean input) throws IOException {
    Exec running = started();
    if (running == null) {
      return;
    }
    try {
      TerminalSession session = execs(running).keyboard(running.number());
      caller.onResize(() -> resize(session));
      // RACE: the size that it was started with may be that of before.
      resize(session);
      caller.inBackground("ebb-terminal", () -> readToTheEnd(session));
      if (input) {
        caller.inBackground("ebb-stdin", () -> pumpInput(session));
      }
    } catch (EbbException e) {
      // Its reader finds out.
    }
  }

  private Execs execs(Exec started) {
    return client.execs(started.box());
  }

  private void resize(TerminalSession session) {
    try {
      session.resize(size());
    } catch (IOException e) {
      // It has ended; the reader finds out.
    }
  }

  private static void readToTheEnd(TerminalSession session) throws IOException {
    while (session.read().isPresent()) {
      // Nothing is shown twice.
    }
  }

  private void pumpInput(TerminalSession session) throws IOException {
    byte[] chunk = new byte[CHUNK];
    try (var in = caller.in()) {
      for (int n = read(in, chunk); n >= 0; n = read(in, chunk)) {
        session.write(Arrays.copyOf(chunk, n));
      }
    }
    leave(HANGUP);
  }

  /**
   * Reads keys. A raw terminal has no end of file: it ends, or fails, when it hangs up. The signal
   * for that may be ignored, as below {@code nohup}.
   */
  private static int read(InputStream in, byte[] chunk) {
    try {
      return in.read(chunk);
    } catch (IOException e) {
      return -1;
    }
  }

  // --- signals ---

  private void catchSignals() {
    caller.onSignals(Caller.ENDING, this::leave);
  }

  /** The terminal is given back first: what comes after may take its time. */
  private synchronized void leave(int signal) {
    try {
      scope.close();
      if (exec != null) {
        end(exec);
        var _ = over.await(SLACK.toSeconds(), TimeUnit.SECONDS);
      }
    } catch (KernelException e) {
      caller.err().println("ebb: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    caller.leave(ExitCode.SIGNALLED + signal);
  }

  private void end(Exec running) {
    try {
      execs(running).kill(running.number(), grace);
    } catch (NotFoundException e) {
      // It has ended, and its box is gone.
    } catch (IOException e) {
      caller.err().println("ebb: " + DaemonFailure.words(e));
    }
  }
}
