package dev.ebb.server;

import dev.ebb.engine.Engine;
import dev.ebb.server.access.Quota;
import dev.ebb.server.access.Quotas;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb quota}: what tenants may have at a time; a running daemon follows at once. */
final class QuotaCommand {
  private QuotaCommand() {}

  static CommandSpec spec() {
    CommandSpec spec =
        Main.command("quota", "Set, list and remove what tenants may have at a time.");
    CommandSpec set = Main.command("set", "Set the quota of a tenant; what is not named stays.");
    for (Quota.Kind kind : Quota.Kind.values()) {
      set.addOption(Main.value("--" + kind.word(), "VALUE", description(kind)));
    }
    set.addPositional(tenant());
    spec.addSubcommand("set", set);
    spec.addSubcommand("ls", Main.command("ls", "List the quotas that were set."));
    spec.addSubcommand(
        "rm", Main.command("rm", "Let the default hold for a tenant.").addPositional(tenant()));
    return spec;
  }

  private static String description(Quota.Kind kind) {
    return switch (kind) {
      case BOXES -> "most boxes";
      case EXECS -> "most commands that run at a time";
      case MEMORY -> "most memory of all boxes, by their limits, as 8g";
      case CPUS -> "most processors of all boxes";
      case PIDS -> "most processes and threads of all boxes";
      case RATE -> "most requests in a second";
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
    return new Quotas(Engine.prepareHome(), Quota.NONE);
  }

  static int set(ParseResult parsed) {
    String tenant = parsed.matchedPositionalValue(0, "");
    Quota quota = quotas().of(tenant);
    for (Quota.Kind kind : Quota.Kind.values()) {
      String text = parsed.matchedOptionValue("--" + kind.word(), (String) null);
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
