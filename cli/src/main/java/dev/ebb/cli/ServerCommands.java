package dev.ebb.cli;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Commands of the server's own program; the {@code ebb} script starts that program for them and for
 * their help. This class only lists them, with their options for completion: a visible pair with
 * {@code dev.ebb.server.Main}, which a test compares.
 */
final class ServerCommands {
  private static final List<String> SETTINGS =
      List.of(
          "--config",
          "--socket",
          "--listen",
          "--tls-certificate",
          "--tls-key",
          "--hosts",
          "--policy-mounts",
          "--policy-writable-mounts",
          "--policy-host-network",
          "--policy-egress",
          "--policy-backends",
          "--egress-private",
          "--egress-connections",
          "--limits-memory",
          "--limits-pids",
          "--limits-cpus",
          "--limits-disk",
          "--limits-output",
          "--limits-open-files",
          "--limits-file-size",
          "--connections",
          "--log-format",
          "--log-level",
          "--limits-timeout",
          "--limits-ttl",
          "--sweep-interval",
          "--pressure-warn",
          "--pressure-alert",
          "--pressure-full",
          "--pressure-queue",
          "--pressure-wait",
          "--pressure-quiet",
          "--quotas-boxes",
          "--quotas-execs",
          "--quotas-memory",
          "--quotas-cpus",
          "--quotas-pids",
          "--quotas-rate",
          "--mcp-idle",
          "--mcp-sessions",
          "--pool",
          "--pool-idle",
          "--pool-min",
          "--pool-max",
          "--pool-age",
          "--pool-interpreters",
          "--pool-preload",
          "--pool-zygote",
          "--pool-zygote-age",
          "--pool-zygote-count",
          "--rehearsal");

  private static final List<String> QUOTAS =
      List.of("--boxes", "--execs", "--memory", "--cpus", "--pids", "--rate");

  private ServerCommands() {}

  static CommandSpec spec(String name) {
    return switch (name) {
      case "serve" ->
          configured(name, "Run the daemon, which serves boxes over HTTP until SIGTERM.")
              .addOption(Options.flag("", "--until-eof"));
      case "config" ->
          configured(name, "Print the configuration of serve, and the origin of each value.")
              .addOption(Options.json());
      case "key" -> key();
      case "quota" -> quota();
      default -> throw new IllegalStateException(name);
    };
  }

  private static CommandSpec key() {
    return Options.command("key", "Create, list and revoke keys for access over TCP.")
        .addSubcommand("create", keyCreate())
        .addSubcommand("ls", Options.command("ls", ""))
        .addSubcommand("revoke", Options.command("revoke", ""));
  }

  private static CommandSpec quota() {
    return Options.command("quota", "Set, list and remove quotas of tenants.")
        .addSubcommand("set", quotaSet())
        .addSubcommand("ls", Options.command("ls", ""))
        .addSubcommand("rm", Options.command("rm", ""));
  }

  private static CommandSpec quotaSet() {
    CommandSpec spec = Options.command("set", "");
    QUOTAS.forEach(kind -> spec.addOption(Options.text(kind, "VALUE", "")));
    return spec;
  }

  private static CommandSpec configured(String name, String description) {
    CommandSpec spec = Options.command(name, description);
    SETTINGS.forEach(setting -> spec.addOption(Options.text(setting, "VALUE", "")));
    return spec;
  }

  private static CommandSpec keyCreate() {
    return Options.command("create", "")
        .addOption(Options.text("--tenant", "NAME", ""))
        .addOption(Options.text("--note", "TEXT", ""))
        .addOption(Options.text("--role", "ROLE", ""))
        .addOption(Options.flag("", "--admin"));
  }

  static int run(Caller caller, String name) {
    caller.err().println("ebb: " + name + " can be started by the script ebb only");
    return ExitCode.OWN_FAILURE;
  }
}
