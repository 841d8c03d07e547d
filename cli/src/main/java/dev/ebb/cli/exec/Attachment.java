package dev.ebb.cli.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.OwnOutput;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.Offsets;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;

/** Runs a command of the daemon with our own streams and signals. */
final class Attachment {
  private final Execs execs;
  private final Duration grace;
  private final AtomicInteger signal = new AtomicInteger();

  @GuardedBy("this")
  private @Nullable Exec exec;

  Attachment(Execs execs, Duration grace) {
    this.execs = execs;
    this.grace = grace;
  }

  /** Starts it and returns what the shell is to see. */
  int run(ExecRequest request, boolean input, boolean json, boolean quiet) throws IOException {
    // ORDER: no Ctrl-C may end us and leave the command.
    catchSignals();
    long number = start(input ? request.withStdin() : request);
    if (input) {
      pumpInput(number);
    }
    return json ? collect(number) : copy(number, quiet);
  }

  /** RACE: a signal handler waits for the lock, and then knows what to end. */
  private synchronized long start(ExecRequest request) throws IOException {
    Exec started = execs.start(request);
    exec = started;
    return started.number();
  }

  private int collect(long number) throws IOException {
    var stdout = new ByteArrayOutputStream();
    var stderr = new ByteArrayOutputStream();
    Exec ended = follow(number, stdout, stderr).orElseThrow();
    System.out.println(
        ended
            .document()
            .with("stdout", Output.of(stdout.toByteArray()).document())
            .with("stderr", Output.of(stderr.toByteArray()).document()));
    return code(ended);
  }

  private int copy(long number, boolean quiet) throws IOException {
    Optional<Exec> ended =
        follow(
            number,
            new FileOutputStream(FileDescriptor.out),
            new FileOutputStream(FileDescriptor.err));
    if (ended.isEmpty()) {
      execs.kill(number, grace);
      return ExitCode.READER_GONE;
    }
    if (!quiet) {
      ExecEnd.explain(ended.get());
    }
    return code(ended.get());
  }

  private int code(Exec ended) {
    return signal.get() != 0 ? ExitCode.SIGNALLED + signal.get() : ExecEnd.code(ended.exitCode());
  }

  /** Copies both streams until the end; empty when the reader of our output has gone. */
  private Optional<Exec> follow(long number, OutputStream out, OutputStream err)
      throws IOException {
    try (Following following = execs.follow(number, Offsets.START)) {
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
            return Optional.of(result.exec());
          }
        }
      }
    }
  }

  private static boolean write(OutputStream stream, Output output) {
    try {
      stream.write(output.bytes());
      return true;
    } catch (IOException e) {
      if (!OwnOutput.isReaderGone(e)) {
        print(OwnOutput.words(e));
      }
      return false;
    }
  }

  /** The first runs the kill ladder, the second skips its grace. */
  private void catchSignals() {
    for (String name : List.of("INT", "TERM", "HUP")) {
      Signal.handle(new Signal(name), this::handle);
    }
  }

  private void handle(Signal caught) {
    boolean again = signal.getAndSet(caught.getNumber()) != 0;
    Exec running = running();
    if (running == null) {
      Runtime.getRuntime().halt(ExitCode.SIGNALLED + caught.getNumber());
      return;
    }
    try {
      execs.kill(running.number(), again ? Duration.ZERO : grace);
    } catch (IOException e) {
      System.err.println("ebb: " + DaemonFailure.words(e));
    }
  }

  private synchronized @Nullable Exec running() {
    return exec;
  }

  /** Copies our stdin; the thread ends with the process, so it is not joined. */
  private void pumpInput(long number) {
    Thread.ofPlatform()
        .name("ebb-stdin")
        .daemon()
        .start(
            () -> {
              try (var in = new FileInputStream(FileDescriptor.in)) {
                execs.feedAll(number, in);
              } catch (IOException e) {
                // It ended, or reads no more: the thread that follows it reports that.
              }
            });
  }

  private static void print(String message) {
    System.err.println("ebb: " + message);
  }
}
