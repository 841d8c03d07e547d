package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.EbbClient;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.util.Optional;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb events}: what happens to boxes, as it happens. */
public final class EventsCommand {
  private EventsCommand() {}

  public static CommandSpec spec() {
    return Options.command("events", "Print what happens to boxes until Ctrl-C.")
        .addOption(Options.text("--after", "ID", "start after this event"))
        .addOption(Options.flag("print one JSON object a line", "--json"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    Optional<String> after = Options.find(parsed, "--after");
    boolean json = parsed.hasMatchedOption("--json");
    try (EbbClient client = DaemonConnection.open(caller);
        BoxEvents events = after.isPresent() ? client.eventsAfter(after.get()) : client.events()) {
      while (!caller.out().checkError()) {
        BoxEvent event = events.next();
        caller.out().println(json ? document(event) : line(event));
      }
    }
    return 0;
  }

  private static JsonObject document(BoxEvent event) {
    return event.document().with("event", event.kind()).with("id", event.id());
  }

  static String line(BoxEvent event) {
    if (event.kind().equals("gap")) {
      return "some events were missed";
    }
    if (event.kind().equals("pressure") || event.kind().equals("baseline")) {
      return Table.clean(Shown.orNothing(event.at()) + " " + event.kind() + " " + event.document());
    }
    var line = new StringJoiner(" ");
    line.add(Shown.orNothing(event.at())).add(event.kind()).add(Shown.orNothing(event.box()));
    add(line, "name=", event.name());
    add(line, "exec=", event.exec());
    line.add(Shown.orNothing(event.state()));
    add(line, "status=", event.status());
    add(line, "code=", event.exitCode());
    add(line, "reason=", event.reason());
    return Table.clean(line.toString());
  }

  private static void add(StringJoiner line, String name, @Nullable Object value) {
    if (value != null) {
      line.add(name + value);
    }
  }
}
