package dev.ebb.server;

import dev.ebb.engine.HomeTools;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb quota}: quotas of tenants; a running daemon follows at once. */
final class QuotaCommand {
  private QuotaCommand() {}

  static CommandSpec spec() {
    CommandSpec spec = Main.command("quota", "Set, list and remove quotas of tenants.");
    CommandSpec set = Main.command("set", "Set quotas of a tenant; other quotas stay as they are.");
    for (Quota.Kind kind : Quota.Kind.values()) {
      set.addOption(Main.value("--" + kind.wireName(), "VALUE", description(kind)));
    }
    set.addPositional(tenant());
    spec.addSubcommand("set", set);
    spec.addSubcommand("ls", Main.command("ls", "List the quotas that were set."));
    spec.addSubcommand(
        "rm",
        Main.command("rm", "Remove the quotas of a tenant; the defaults apply again.")
            .addPositional(tenant()));
    return spec;
  }

  private static String description(Quota.Kind kind) {
    return switch (kind) {
      case BOXES -> "maximum number of boxes";
      case EXECS -> "maximum number of running commands";
      case MEMORY -> "maximum sum of the memory limits of all boxes, e.g. 8g";
      case CPUS -> "maximum sum of the processor limits of all boxes";
      case PIDS -> "maximum sum of the process limits of all boxes";
      case RATE -> "maximum number of requests per second";
    };
  }

  private static PositionalParamSpec tenant() {
    return PositionalParamSpec.builder()
        .paramLabel("TENANT")
        .type(String.class)
        .arity("1")
        .description("whose")
        .build();
  }

  private static Quotas quotas() {
    return new Quotas(HomeTools.prepareHome(), Quota.NONE);
  }

  static int set(ParseResult parsed) {
    String tenant = parsed.matchedPositionalValue(0, "");
    Quota quota = quotas().of(tenant);
    for (Quota.Kind kind : Quota.Kind.values()) {
      String text = parsed.matchedOptionValue("--" + kind.wireName(), (String) null);
      quota = text == null ? quota : quota.with(kind, text);
    }
    quotas().set(tenant, quota);
    System.out.println(tenant + " " + quota);
    return 0;
  }

  static int list() {
    System.out.printf("%-16s %s%n", "TENANT", "QUOTA");
    quotas().list().forEach((tenant, quota) -> System.out.printf("%-16s %s%n", tenant, quota));
    return 0;
  }

  static int remove(ParseResult parsed) {
    String tenant = parsed.matchedPositionalValue(0, "");
    if (!quotas().remove(tenant)) {
      System.err.println("ebb: tenant " + tenant + " has no quota of its own");
      return Main.OWN_FAILURE;
    }
    System.out.println(tenant);
    return 0;
  }
}
