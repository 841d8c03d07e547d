package dev.ebb.cli.exec;

import static java.util.Objects.requireNonNull;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Cause;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Following;
import dev.ebb.client.Output;
import dev.ebb.client.Release;
import dev.ebb.client.Result;
import dev.ebb.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ParseResult;

/**
 * {@code ebb run} inside a daemon: in a box of that daemon, but shown as {@link RunCommand} shows a
 * run of its own.
 */
final class AttachedRun {
  /** How long the output for programs waits for the release of the box. */
  private static final Duration RELEASE_PATIENCE = Duration.ofMinutes(1);

  private final Caller caller;
  private final ParseResult parsed;
  private final RunOptions options;

  AttachedRun(Caller caller, ParseResult parsed, RunOptions options) {
    this.caller = caller;
    this.parsed = parsed;
    this.options = options;
  }

  int run() throws IOException {
    BoxRequest box = BoxOptions.request(caller, parsed);
    // As an engine of its own has it, whatever the daemon would take otherwise.
    ExecRequest request =
        ExecOptions.request(parsed, Options.words(parsed))
            .withTimeout(options.exec().timeout())
            .withStdin();
    try (EbbClient client = DaemonConnection.open(caller)) {
      return run(client, new OwnBox(client, box, request));
    }
  }

  private int run(EbbClient client, OwnBox source) throws IOException {
    var attachment = new Attachment(caller, client, ExecOptions.grace(parsed));
    if (!options.json()) {
      Optional<Result> ended = attachment.run(source, true, caller.rawOut(), caller.rawErr());
      return ended.isEmpty() ? ExitCode.READER_GONE : explain(attachment, ended.get());
    }
    var stdout = new ByteArrayOutputStream();
    var stderr = new ByteArrayOutputStream();
    Result ended = attachment.run(source, true, stdout, stderr).orElseThrow();
    Release release = client.awaitRelease(ended.exec().box(), RELEASE_PATIENCE);
    caller.out().println(released(document(ended.exec(), stdout, stderr), release));
    return explain(attachment, ended);
  }

  /** A command in a box that goes with it. */
  private static final class OwnBox implements Attachment.Source {
    private final EbbClient client;
    private final BoxRequest box;
    private final ExecRequest request;
    private @Nullable Following following;

    OwnBox(EbbClient client, BoxRequest box, ExecRequest request) {
      this.client = client;
      this.box = box;
      this.request = request;
    }

    @Override
    public Exec start() throws IOException {
      Following opened = client.runAndFollow(box, request);
      following = opened;
      if (opened.next().orElse(null) instanceof ExecEvent.Started(var started)) {
        return started;
      }
      opened.close();
      throw new IOException("the daemon did not report the start of the command");
    }

    @Override
    public Following follow(Exec started) {
      return requireNonNull(following);
    }
  }

  /** The result with all output, by the names that REST has for it. */
  static JsonObject document(
      Exec ended, ByteArrayOutputStream stdout, ByteArrayOutputStream stderr) {
    return ended
        .document()
        .with("stdout", Output.of(stdout.toByteArray()).document())
        .with("stderr", Output.of(stderr.toByteArray()).document());
  }

  /** What can be asked for later, in place of where to ask. */
  private static JsonObject released(JsonObject document, Release release) {
    return document
        .without("certificateUrl")
        .with("released", release.released())
        .with("certificate", release.document().members().get("certificate"));
  }

  // --- messages ---

  private int explain(Attachment attachment, Result result) {
    Exec exec = result.exec();
    Certificate certificate = result.certificate();
    boolean isClean = certificate == null || certificate.clean();
    if (!options.quiet()) {
      explain(exec.cause());
      warn(exec);
      if (!isClean) {
        print(String.valueOf(certificate));
      }
    }
    return !isClean || exec.lost() != null
        ? ExitCode.OWN_FAILURE
        : attachment.code(ExecEnd.code(exec.exitCode()));
  }

  private void warn(Exec exec) {
    if (exec.usage() != null && exec.usage().forksRefused() > 0) {
      print(RunCommand.refused(options.box(), exec.usage().forksRefused()));
    }
    if (exec.leftovers() != null) {
      exec.leftovers()
          .kept()
          .forEach(kept -> print(RunCommand.kept(kept.pid() + " " + kept.command())));
    }
    if (exec.lost() != null) {
      print(ExecEnd.words(exec.lost()));
    }
  }

  private void explain(@Nullable Cause cause) {
    if (cause == null) {
      return;
    }
    String message = cause.message();
    switch (cause.kind()) {
      case "timed-out" -> print(RunCommand.timedOut(options.exec()));
      case "out-of-memory" -> print(RunCommand.outOfMemory(options.box()));
      case "output-limit" -> print(RunCommand.tooMuchOutput(options.exec()));
      case "lost" -> print(RunCommand.LOST);
      case "not-started", "stuck" -> print(message == null ? cause.kind() : message);
      default -> {} // its own end
    }
  }

  private void print(String message) {
    caller.err().println("ebb: " + message);
  }
}
