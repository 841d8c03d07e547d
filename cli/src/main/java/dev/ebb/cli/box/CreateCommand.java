package dev.ebb.cli.box;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.client.Box;
import dev.ebb.client.EbbClient;
import java.io.IOException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb create}: a box that lives with the daemon. */
public final class CreateCommand {
  private CreateCommand() {}

  public static CommandSpec spec() {
    CommandSpec spec = Options.command("create", "Create a box in the daemon, and print its id.");
    BoxOptions.addTo(spec);
    return spec.addOption(
            Options.text("--idempotency-key", "KEY", "return the same box for the same key"))
        .addOption(Options.json());
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    var request = BoxOptions.request(caller, parsed).withDetached();
    var key = Options.<String>find(parsed, "--idempotency-key");
    try (EbbClient client = DaemonConnection.openOrStart(caller)) {
      Box box =
          key.isPresent()
              ? client.boxes().create(request, key.get())
              : client.boxes().create(request);
      caller.out().println(parsed.hasMatchedOption("--json") ? box.document() : box.id());
    }
    return 0;
  }
}
