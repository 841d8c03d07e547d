package dev.ebb.cli.box;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.client.Box;
import dev.ebb.client.EbbClient;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb network}: what a box may reach, shown or changed. */
public final class NetworkCommand {
  private NetworkCommand() {}

  public static CommandSpec spec() {
    return Options.command("network", "Show or change what a box may reach.")
        .addOption(Options.json())
        .addPositional(
            Options.positional(
                "BOX [none|allow=NAME,...]",
                "1..2",
                "the box, and what it may reach from now on; other connections are closed"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    List<String> words = Options.words(parsed);
    String box = Options.box(parsed, words.getFirst());
    try (EbbClient client = DaemonConnection.open(caller)) {
      Box shown =
          words.size() == 1
              ? client.boxes().inspect(box)
              : client.boxes().changeNetwork(box, words.get(1));
      caller.out().println(parsed.hasMatchedOption("--json") ? shown.document() : shown.network());
    }
    return 0;
  }
}
