package dev.ebb.cli.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.OwnOutput;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.client.Result;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Runs a command of the daemon with the streams and signals of our caller. */
final class Attachment {
  private static final int CHUNK = 8 * 1024;

  private final Caller caller;
  private final EbbClient client;
  private final Duration grace;
  private final AtomicInteger signal = new AtomicInteger();

  @GuardedBy("this")
  private @Nullable Exec exec;

  Attachment(Caller caller, EbbClient client, Duration grace) {
    this.caller = caller;
    this.client = client;
    this.grace = grace;
  }

  /** Starts a command, and then follows it. */
  interface Source {
    Exec start() throws IOException;

    Following follow(Exec started) throws IOException;
  }

  /** Runs it to its end, which is empty if the reader of the output has gone. */
  Optional<Result> run(Source source, boolean input, OutputStream out, OutputStream err)
      throws IOException {
    // ORDER: no Ctrl-C may end us and leave the command.
    caller.onSignals(Caller.ENDING, this::handle);
    Exec started = start(source);
    if (input) {
      pumpInput(started);
    }
    Optional<Result> ended = follow(source, started, out, err);
    if (ended.isEmpty()) {
      kill(started, grace);
    }
    return ended;
  }

  /** The exit code: that of a signal, if there was one. */
  int code(int otherwise) {
    return signal.get() != 0 ? ExitCode.SIGNALLED + signal.get() : otherwise;
  }

  /** RACE: a signal handler waits for the lock, and then knows what to end. */
  private synchronized Exec start(Source source) throws IOException {
    Exec started = source.start();
    exec = started;
    return started;
  }

  /** Copies both streams until the end; empty when the reader of our output has gone. */
  private Optional<Result> follow(Source source, Exec started, OutputStream out, OutputStream err)
      throws IOException {
    try (Following following = source.follow(started)) {
      while (true) {
        switch (following.next().orElseThrow()) {
          case ExecEvent.Started _ -> {}
          case ExecEvent.Wrote(var stream, var output, _) -> {
            if (!write(stream == OutputStreamName.STDOUT ? out : err, output)) {
              return Optional.empty();
            }
          }
          case ExecEvent.Lost _ -> {} // its end reports that
          case ExecEvent.Ended(var result) -> {
            return flush(out) && flush(err) ? Optional.of(result) : Optional.empty();
          }
        }
      }
    }
  }

  private boolean write(OutputStream stream, Output output) {
    try {
      stream.write(output.bytes());
      return true;
    } catch (IOException e) {
      return isWritten(e);
    }
  }

  private boolean flush(OutputStream stream) {
    try {
      stream.flush();
      return true;
    } catch (IOException e) {
      return isWritten(e);
    }
  }

  /** Reports a failure to write, unless the reader has gone. */
  private boolean isWritten(IOException e) {
    if (!OwnOutput.isReaderGone(e)) {
      caller.err().println("ebb: " + OwnOutput.words(e));
    }
    return false;
  }

  /** The first runs the kill ladder, the second skips its grace. */
  private void handle(int caught) {
    boolean again = signal.getAndSet(caught) != 0;
    Exec running = running();
    if (running == null) {
      caller.leave(ExitCode.SIGNALLED + caught);
      return;
    }
    try {
      kill(running, again ? Duration.ZERO : grace);
    } catch (IOException e) {
      caller.err().println("ebb: " + DaemonFailure.words(e));
    }
  }

  private synchronized @Nullable Exec running() {
    return exec;
  }

  private void kill(Exec running, Duration within) throws IOException {
    try {
      client.execs(running.box()).kill(running.number(), within);
    } catch (NotFoundException e) {
      // It has ended, and its box is gone.
    }
  }

  private void pumpInput(Exec running) {
    caller.inBackground("ebb-stdin", () -> feed(client.execs(running.box()), running.number()));
  }

  /** Asks the daemon for nothing before there is something to say. */
  private void feed(Execs execs, long number) throws IOException {
    try (InputStream in = caller.in()) {
      var first = new byte[CHUNK];
      int n = in.read(first);
      if (n < 0) {
        execs.closeStdin(number);
      } else {
        var begun = new ByteArrayInputStream(first, 0, n);
        execs.feedAll(number, new SequenceInputStream(begun, in));
      }
    }
  }
}
