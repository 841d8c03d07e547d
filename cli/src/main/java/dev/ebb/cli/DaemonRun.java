package dev.ebb.cli;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import java.io.IOException;
import picocli.CommandLine.ParseResult;

/** {@code ebb run -d} and {@code ebb run -t}: in a box of the daemon. */
final class DaemonRun {
  private final ParseResult parsed;

  DaemonRun(ParseResult parsed) {
    this.parsed = parsed;
  }

  int run() throws IOException {
    if (parsed.hasMatchedOption("--tmp")) {
      throw Options.bad(parsed, "--tmp cannot be had with -d or -t");
    }
    BoxRequest boxRequest = BoxOptions.request(parsed);
    ExecRequest request = ExecOptions.request(parsed, Options.words(parsed));
    try (EbbClient client = DaemonConnection.open()) {
      Box box = client.boxes().create(boxRequest);
      return parsed.hasMatchedOption("--detach")
          ? detach(client, box, request)
          : attach(client, box, request);
    }
  }

  private int detach(EbbClient client, Box box, ExecRequest request) throws IOException {
    try {
      client.execs(box.id()).start(request);
    } catch (IOException e) {
      remove(client, box);
      throw e;
    }
    System.out.println(parsed.hasMatchedOption("--json") ? box.document() : box.id());
    return 0;
  }

  private int attach(EbbClient client, Box box, ExecRequest request) throws IOException {
    try {
      boolean input = ExecOptions.isInteractive(parsed);
      return TerminalAttachment.run(
          client.execs(box.id()), request, input, () -> remove(client, box));
    } finally {
      remove(client, box);
    }
  }

  /** Says what is left, if something is; the first failure is the one to be told. */
  private static void remove(EbbClient client, Box box) {
    try {
      Certificate certificate = client.boxes().remove(box.id(), true);
      if (!certificate.clean()) {
        System.err.println("ebb: " + certificate);
      }
    } catch (IOException e) {
      System.err.println("ebb: cannot remove " + box.id() + ": " + DaemonFailure.words(e));
    }
  }
}
