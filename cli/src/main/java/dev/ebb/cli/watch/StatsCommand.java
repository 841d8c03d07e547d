package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb stats}: what boxes use. */
public final class StatsCommand {
  private final Map<String, Sample> before = new HashMap<>();

  private StatsCommand() {}

  /** The processor time of a box at a moment. */
  private record Sample(Instant at, long cpuMillis) {}

  public static CommandSpec spec() {
    return Screen.addTo(
            Options.command("stats", "Show the resource usage of boxes, updated every second."))
        .addOption(Options.json())
        .addPositional(
            Options.positional("BOX", "0..*", "ids or names of boxes (default: all running ones)"));
  }

  public static int run(Caller caller, ParseResult parsed)
      throws IOException, InterruptedException {
    try (EbbClient client = DaemonConnection.open(caller)) {
      if (parsed.hasMatchedOption("--json")) {
        var list = boxes(client, parsed).stream().map(StatsCommand::document).toList();
        caller.out().println(JsonObject.empty().with("boxes", list));
        return 0;
      }
      var stats = new StatsCommand();
      return new Screen(caller, parsed)
          .show(() -> stats.table(boxes(client, parsed), Instant.now()));
    }
  }

  private static List<Box> boxes(EbbClient client, ParseResult parsed) throws IOException {
    var names = new ArrayList<String>();
    Options.words(parsed).forEach(name -> names.add(Options.box(parsed, name)));
    if (names.isEmpty()) {
      var running = BoxQuery.all().withState(BoxState.RUNNING);
      client.boxes().list(running).forEach(box -> names.add(box.id()));
    }
    var boxes = new ArrayList<Box>();
    for (String name : names) {
      boxes.add(client.boxes().inspect(name));
    }
    return boxes;
  }

  private static JsonObject document(Box box) {
    return JsonObject.empty()
        .with("id", box.id())
        .with("name", box.name())
        .with("usage", box.document().members().get("usage"));
  }

  Table table(List<Box> boxes, Instant now) throws JsonException {
    var table = new Table("BOX", "NAME", "CPU", "CPU TIME", "MEMORY", "PEAK", "LIMIT", "PROCESSES");
    for (Box box : boxes) {
      JsonObject usage = box.document().objectOrNull("usage");
      JsonObject known = usage == null ? JsonObject.empty() : usage;
      table.row(
          box.id(),
          Shown.orNothing(box.name()),
          share(box.id(), known.numberOrNull("cpuMillis"), now),
          time(known.numberOrNull("cpuMillis")),
          size(known.numberOrNull("memoryBytes")),
          size(known.numberOrNull("peakMemoryBytes")),
          size(box.limits().memoryBytes()),
          Shown.orNothing(known.numberOrNull("processes")));
    }
    return table;
  }

  /** The percentage of one processor since the last look. */
  private String share(String box, @Nullable Long cpuMillis, Instant now) {
    if (cpuMillis == null) {
      return Shown.NOTHING;
    }
    Sample last = before.put(box, new Sample(now, cpuMillis));
    long elapsed = last == null ? 0 : Duration.between(last.at(), now).toMillis();
    if (last == null || elapsed <= 0) {
      return Shown.NOTHING;
    }
    double share = 100.0 * (cpuMillis - last.cpuMillis()) / elapsed;
    return String.format(Locale.ROOT, "%.0f%%", Math.max(share, 0));
  }

  private static String time(@Nullable Long millis) {
    return millis == null ? Shown.NOTHING : String.format(Locale.ROOT, "%.1fs", millis / 1000.0);
  }

  private static String size(@Nullable Long bytes) {
    return bytes == null ? Shown.NOTHING : Shown.size(bytes);
  }
}
