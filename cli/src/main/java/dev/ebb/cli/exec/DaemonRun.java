package dev.ebb.cli.exec;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Release;
import java.io.IOException;
import java.time.Duration;
import picocli.CommandLine.ParseResult;

/** {@code ebb run -d} and {@code ebb run -t}: in a box of the daemon. */
final class DaemonRun {
  /** How long {@code -v} waits for the release of a box. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final Caller caller;
  private final ParseResult parsed;

  DaemonRun(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
  }

  int run() throws IOException {
    if (parsed.hasMatchedOption("--tmp")) {
      throw Options.bad(parsed, "--tmp cannot be combined with -d or -t");
    }
    BoxRequest boxRequest = BoxOptions.request(caller, parsed);
    ExecRequest request = ExecOptions.request(parsed, Options.words(parsed));
    try (EbbClient client = DaemonConnection.openOrStart(caller)) {
      if (!parsed.hasMatchedOption("--detach")) {
        return attach(client, boxRequest, request);
      }
      return parsed.hasMatchedOption("--rm")
          ? leave(client, boxRequest, request)
          : detach(client, boxRequest, request);
    }
  }

  /** The box stays until it is removed. */
  private int detach(EbbClient client, BoxRequest boxRequest, ExecRequest request)
      throws IOException {
    Box box = client.boxes().create(boxRequest.withDetached());
    start(client, box, request);
    caller.out().println(parsed.hasMatchedOption("--json") ? box.document() : box.id());
    return 0;
  }

  private Exec start(EbbClient client, Box box, ExecRequest request) throws IOException {
    try {
      return client.execs(box.id()).start(request);
    } catch (IOException e) {
      remove(client, box.id());
      throw e;
    }
  }

  /** The daemon removes the box with the end of its command. */
  private int leave(EbbClient client, BoxRequest boxRequest, ExecRequest request)
      throws IOException {
    Exec exec = client.start(boxRequest, request);
    caller.out().println(parsed.hasMatchedOption("--json") ? exec.document() : exec.box());
    return 0;
  }

  private int attach(EbbClient client, BoxRequest boxRequest, ExecRequest request)
      throws IOException {
    var terminal = new TerminalAttachment(caller, client, ExecOptions.grace(parsed));
    int code =
        terminal.run(
            size -> client.runAndFollow(boxRequest, request.withTerminal(size)),
            ExecOptions.isInteractive(parsed));
    if (parsed.hasMatchedOption("--verbose")) {
      printRelease(client.awaitRelease(terminal.box(), PATIENCE));
    }
    return code;
  }

  private void printRelease(Release release) {
    Certificate certificate = release.certificate();
    caller
        .err()
        .println(
            "ebb: " + (certificate == null ? release.box() + " is not released yet" : certificate));
  }

  /**
   * Removes a box and reports what is left of it; never throws, so the first failure is reported.
   */
  private void remove(EbbClient client, String box) {
    try {
      Certificate certificate = client.boxes().remove(box, true);
      if (!certificate.clean()) {
        caller.err().println("ebb: " + certificate);
      }
    } catch (IOException e) {
      caller.err().println("ebb: cannot remove " + box + ": " + DaemonFailure.words(e));
    }
  }
}
