package dev.ebb.cli.box;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/** {@code ebb ls}: the boxes of the daemon. */
public final class ListCommand {
  private ListCommand() {}

  public static CommandSpec spec() {
    return Options.command("ls", "List boxes.")
        .addOption(Options.flag("include boxes that are gone", "-a", "--all"))
        .addOption(Options.flag("print only ids", "-q", "--quiet"))
        .addOption(
            Options.list(
                new String[] {"-l", "--label"}, "KEY=VALUE", "list only boxes with this label"))
        .addOption(
            Options.value(
                "--state",
                "STATE",
                BoxState.class,
                ListCommand::state,
                "list only boxes in this state: creating, running, paused, stopping, gone, stuck,"
                    + " lost"))
        .addOption(Options.text("--name", "NAME", "list only the box of this name"))
        .addOption(Options.json());
  }

  private static BoxState state(String word) {
    for (BoxState state : BoxState.values()) {
      if (state != BoxState.UNKNOWN && state.wireName().equals(word)) {
        return state;
      }
    }
    throw new TypeConversionException("bad state \"" + word.toLowerCase(Locale.ROOT) + "\"");
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    Optional<BoxState> state = Options.find(parsed, "--state");
    boolean all = parsed.hasMatchedOption("--all") || state.isPresent();
    var query =
        new BoxQuery(
            Options.many(parsed, "--label"),
            state.orElse(null),
            Options.<String>find(parsed, "--name").orElse(null));
    List<Box> boxes;
    try (EbbClient client = DaemonConnection.open(caller)) {
      boxes =
          client.boxes().list(query).stream().filter(box -> all || !box.state().isOver()).toList();
    }
    if (parsed.hasMatchedOption("--json")) {
      var documents = boxes.stream().map(Box::document).toList();
      caller.out().println(JsonObject.empty().with("boxes", documents));
    } else if (parsed.hasMatchedOption("--quiet")) {
      boxes.forEach(box -> caller.out().println(box.id()));
    } else {
      table(boxes, Instant.now()).print(caller.out());
    }
    return 0;
  }

  static Table table(List<Box> boxes, Instant now) {
    var table = new Table("BOX", "NAME", "STATE", "AGE", "EXECS", "LABELS");
    for (Box box : boxes) {
      String labels =
          box.labels().entrySet().stream()
              .map(label -> label.getKey() + "=" + label.getValue())
              .collect(Collectors.joining(","));
      table.row(
          box.id(),
          Shown.orNothing(box.name()),
          box.state().wireName(),
          Shown.duration(Duration.between(box.createdAt(), now)),
          box.runningExecs(),
          labels);
    }
    return table;
  }
}
