package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Table;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Pressure;
import java.io.IOException;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb pressure}: how near the daemon is to its limits. */
public final class PressureCommand {
  private PressureCommand() {}

  public static CommandSpec spec() {
    return Options.command("pressure", "Show how close the daemon is to the limits of its host.")
        .addOption(Options.json());
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    try (EbbClient client = DaemonConnection.open(caller)) {
      Pressure pressure = client.pressure();
      if (parsed.hasMatchedOption("--json")) {
        caller.out().println(pressure.document());
      } else {
        table(pressure).print(caller.out());
      }
    }
    return 0;
  }

  static Table table(Pressure pressure) {
    var table = new Table("RESOURCE", "LEVEL", "USE", "LIMIT", "PERCENT", "LIMIT FROM");
    for (Pressure.Gauge gauge : pressure.gauges()) {
      Long limit = gauge.limit();
      Double percent = gauge.percent();
      table.row(
          gauge.resource(),
          gauge.level(),
          gauge.use(),
          limit == null ? "-" : limit,
          limit == null || percent == null ? "-" : String.format(Locale.ROOT, "%.1f", percent),
          gauge.source());
    }
    return table;
  }
}
