package dev.ebb.cli.box;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.ExecNumbers;
import dev.ebb.cli.option.Options;
import dev.ebb.client.EbbClient;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb inspect}: all that the daemon knows of a box or a command. */
public final class InspectCommand {
  private InspectCommand() {}

  public static CommandSpec spec() {
    return Options.command("inspect", "Print details of a box, or of a command in it.")
        .addOption(Options.flag("print on one line", "--json"))
        .addPositional(
            Options.positional("BOX [EXEC]", "1..2", "the box and the number of a command"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    List<Long> numbers = ExecNumbers.parse(parsed);
    try (EbbClient client = DaemonConnection.open(caller)) {
      JsonObject document =
          numbers.isEmpty()
              ? client.boxes().inspect(box).document()
              : client.execs(box).inspect(numbers.getFirst()).document();
      caller.out().println(parsed.hasMatchedOption("--json") ? document : Json.indent(document));
    }
    return 0;
  }
}
