package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.EbbClient;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb pool}: the boxes that the daemon made ahead. */
public final class PoolCommand {
  private PoolCommand() {}

  public static CommandSpec spec() {
    return Options.command("pool", "Show the warm boxes of the daemon and how they are used.")
        .addOption(Options.json());
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    try (EbbClient client = DaemonConnection.open(caller)) {
      JsonObject pool = client.pool();
      if (parsed.hasMatchedOption("--json")) {
        caller.out().println(pool);
        return 0;
      }
      table(pool).print(caller.out());
      List<String> preloaded = pool.strings("preloaded");
      if (!preloaded.isEmpty()) {
        caller.out().println("python3 has imported: " + String.join(", ", preloaded));
      }
      for (Map.Entry<String, Object> each : pool.object("destroyed").members().entrySet()) {
        caller.out().println("destroyed, " + each.getKey() + ": " + each.getValue());
      }
      return 0;
    }
  }

  static Table table(JsonObject pool) throws JsonException {
    var table =
        new Table("WAITING", "SIZE", "TARGET", "MIN", "MAX", "HITS", "MISSES", "OLDEST", "START");
    for (JsonObject kind : pool.objects("kinds")) {
      String interpreter = kind.string("interpreter");
      table.row(
          interpreter.isEmpty() ? Shown.NOTHING : interpreter,
          kind.number("size"),
          kind.isTrue("asleep") ? "asleep" : kind.number("target"),
          kind.number("min"),
          kind.number("max"),
          kind.number("hits"),
          kind.number("misses"),
          seconds(kind.millis("oldestMillis")),
          kind.number("startMillis") + "ms");
    }
    return table;
  }

  private static String seconds(Duration time) {
    return String.format(Locale.ROOT, "%.1fs", time.toMillis() / 1000.0);
  }
}
