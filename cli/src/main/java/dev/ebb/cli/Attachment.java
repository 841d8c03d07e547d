package dev.ebb.cli;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.client.Cause;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.Lost;
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

/** A command of the daemon with our own streams, and our own signals. */
final class Attachment {
  private static final int SIGPIPE_CODE = 141;

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

  /** RACE: whoever is signalled meanwhile waits, and then knows what to end. */
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
      return SIGPIPE_CODE;
    }
    if (!quiet) {
      explain(ended.get());
    }
    return code(ended.get());
  }

  private int code(Exec ended) {
    return signal.get() != 0 ? 128 + signal.get() : code(ended.exitCode());
  }

  static int code(@Nullable Integer exitCode) {
    return exitCode == null ? Main.OWN_FAILURE : exitCode;
  }

  /** Copies both streams until the end; none when whoever reads ours has gone. */
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
          case ExecEvent.Lost _ -> {} // its end says so
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
        say(OwnOutput.words(e));
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
      Runtime.getRuntime().halt(128 + caught.getNumber());
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

  /** Copies our stdin; the thread ends with the process, which is why nobody waits for it. */
  private void pumpInput(long number) {
    Thread.ofPlatform()
        .name("ebb-stdin")
        .daemon()
        .start(
            () -> {
              try (var in = new FileInputStream(FileDescriptor.in)) {
                execs.feedAll(number, in);
              } catch (IOException e) {
                // It ended, or reads no more: whoever follows it says so.
              }
            });
  }

  /** A word about every end that is not the command's own. */
  static void explain(Exec ended) {
    if (ended.lost() != null) {
      say(words(ended.lost()));
    }
    Cause cause = ended.cause();
    if (cause == null) {
      return;
    }
    String message = cause.message();
    switch (cause.kind()) {
      case "timed-out" -> say("timed out (--timeout)");
      case "out-of-memory" -> say("out of memory");
      case "output-limit" -> say("stopped at the output limit (--output-limit)");
      case "lost" -> say("the box died under the command");
      case "not-started", "stuck" -> say(message == null ? cause.kind() : message);
      default -> {}
    }
  }

  static String words(@Nullable Lost lost) {
    return lost == null
        ? "output was lost"
        : "output was lost: %d bytes of stdout and %d of stderr could not be stored (%s)"
            .formatted(lost.stdoutBytes(), lost.stderrBytes(), lost.reason());
  }

  private static void say(String message) {
    System.err.println("ebb: " + message);
  }
}
