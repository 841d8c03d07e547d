package dev.ebb.server;

import dev.ebb.engine.HomeTools;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Keys;
import dev.ebb.server.service.access.Role;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** The commands that need the server's own classes: serve, config, key and quota. */
public final class Main {
  static final int OWN_FAILURE = 125;

  private Main() {}

  public static void main(String[] args) {
    int code = run(args);
    System.out.flush();
    QueuedStream.flushAll();
    Runtime.getRuntime().halt(code);
  }

  static int run(String... args) {
    CommandLine commands = new CommandLine(commands());
    try {
      return dispatch(commands, commands.parseArgs(args));
    } catch (ParameterException e) {
      String command = e.getCommandLine().getCommandSpec().qualifiedName(" ");
      System.err.println(command + ": " + e.getMessage());
      System.err.println("Try '" + command + " --help'.");
    } catch (SandboxException | IllegalArgumentException e) {
      System.err.println("ebb: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      System.err.println("ebb: interrupted");
    }
    return OWN_FAILURE;
  }

  // --- definitions ---

  private static CommandSpec commands() {
    CommandSpec root = CommandSpec.create().name("ebb");
    CommandSpec serve =
        configured("serve", "Run the daemon, which serves boxes over HTTP until SIGTERM.");
    serve.addOption(flag("--until-eof", "end at the end of stdin, too, as by SIGTERM"));
    root.addSubcommand("serve", serve);
    CommandSpec config =
        configured("config", "Print the configuration of serve, and the origin of each value.");
    config.addOption(flag("--json", "print one JSON object"));
    root.addSubcommand("config", config);
    root.addSubcommand("key", keySpec());
    root.addSubcommand("quota", QuotaCommand.spec());
    return root;
  }

  static CommandSpec command(String name, String description) {
    CommandSpec spec = CommandSpec.create().name(name);
    spec.usageMessage().description(description).abbreviateSynopsis(true).width(100);
    return spec.addOption(
        OptionSpec.builder("-h", "--help")
            .type(boolean.class)
            .usageHelp(true)
            .description("show this help")
            .build());
  }

  private static OptionSpec flag(String name, String description) {
    return OptionSpec.builder(name).type(boolean.class).description(description).build();
  }

  static OptionSpec value(String name, String label, String description) {
    return OptionSpec.builder(name)
        .paramLabel(label)
        .type(String.class)
        .description(description)
        .build();
  }

  private static CommandSpec configured(String name, String description) {
    CommandSpec spec = command(name, description);
    spec.addOption(
        value(
            "--config", "FILE", "TOML file (default: ebb.toml in the home, or /etc/ebb/ebb.toml)"));
    for (ConfigurationKey key : ConfigurationKey.values()) {
      spec.addOption(value(key.flag(), "VALUE", key.description() + " (" + key.variable() + ")"));
    }
    return spec;
  }

  private static CommandSpec keySpec() {
    CommandSpec spec = command("key", "Create, list and revoke keys for access over TCP.");
    CommandSpec create = command("create", "Create a key and print it; it is not shown again.");
    create.addOption(value("--tenant", "NAME", "tenant of the key (default: default)"));
    create.addOption(value("--note", "TEXT", "note about its purpose"));
    create.addOption(
        value(
            "--role",
            "ROLE",
            "metrics (GET /metrics only), viewer (reads), user (default), or admin (all tenants)"));
    create.addOption(flag("--admin", "the same as --role admin"));
    spec.addSubcommand("create", create);
    CommandSpec list = command("ls", "List the ids of all keys.");
    spec.addSubcommand("ls", list);
    CommandSpec revoke = command("revoke", "Revoke a key; this holds at once.");
    revoke.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("ID")
            .type(String.class)
            .arity("1")
            .description("id of the key, from ls")
            .build());
    spec.addSubcommand("revoke", revoke);
    return spec;
  }

  // --- execution ---

  private static int dispatch(CommandLine commands, ParseResult parsed)
      throws InterruptedException {
    ParseResult last = parsed;
    while (last.hasSubcommand()) {
      last = last.subcommand();
    }
    String name = last.commandSpec().qualifiedName(" ");
    if (last.hasMatchedOption("--help")) {
      last.commandSpec().commandLine().usage(System.out);
      return 0;
    }
    return switch (name) {
      case "ebb serve" -> serve(configuration(last), last.hasMatchedOption("--until-eof"));
      case "ebb config" -> config(configuration(last), last.hasMatchedOption("--json"));
      case "ebb key create" -> createKey(last);
      case "ebb key ls" -> listKeys();
      case "ebb key revoke" -> revokeKey(last.matchedPositionalValue(0, ""));
      case "ebb quota set" -> QuotaCommand.set(last);
      case "ebb quota ls" -> QuotaCommand.list();
      case "ebb quota rm" -> QuotaCommand.remove(last);
      default -> {
        String group = parsed.subcommand().commandSpec().name();
        commands.getSubcommands().getOrDefault(group, commands).usage(System.err);
        yield OWN_FAILURE;
      }
    };
  }

  private static Configuration configuration(ParseResult parsed) {
    Map<ConfigurationKey, String> flags = new EnumMap<>(ConfigurationKey.class);
    for (ConfigurationKey key : ConfigurationKey.values()) {
      String text = parsed.matchedOptionValue(key.flag(), (String) null);
      if (text != null) {
        flags.put(key, text);
      }
    }
    Optional<String> file =
        Optional.ofNullable(parsed.matchedOptionValue("--config", System.getenv("EBB_CONFIG")));
    return Configuration.of(
        HomeTools.defaultHome(),
        file.map(Path::of).map(Path::toAbsolutePath),
        System.getenv(),
        flags,
        HostCaps.ofThisHost());
  }

  private static int serve(Configuration configuration, boolean untilEof)
      throws InterruptedException {
    return Serving.run(configuration.settings(), configuration.log(), untilEof);
  }

  private static int config(Configuration configuration, boolean json) {
    // Errors are reported before anything is printed.
    var _ = configuration.settings();
    var _ = configuration.log();
    if (json) {
      System.out.println(ConfigurationDocument.json(configuration));
    } else {
      System.out.printf("%-24s %-40s %s%n", "home", configuration.home(), "EBB_HOME, or default");
      configuration
          .values()
          .forEach(
              (key, value) ->
                  System.out.printf(
                      "%-24s %-40s %s%n", key.wireName(), value.text(), value.origin()));
    }
    return 0;
  }

  private static Keys keys() {
    return new Keys(HomeTools.prepareHome());
  }

  private static int createKey(ParseResult parsed) {
    String tenant = parsed.matchedOptionValue("--tenant", Caller.DEFAULT_TENANT);
    String note = parsed.matchedOptionValue("--note", "");
    var created = keys().create(tenant, role(parsed), note);
    System.err.printf(
        "key %s of tenant %s, role %s, shown this once:%n",
        created.entry().id(), tenant, created.entry().role().wireName());
    System.out.println(created.key());
    return 0;
  }

  private static Role role(ParseResult parsed) {
    boolean isAdmin = parsed.hasMatchedOption("--admin");
    String word = parsed.matchedOptionValue("--role", isAdmin ? "admin" : "user");
    Role role =
        Role.parse(word)
            .orElseThrow(
                () -> new IllegalArgumentException("no role \"" + word + "\": " + Role.names()));
    if (isAdmin && role != Role.ADMIN) {
      throw new IllegalArgumentException("--admin and --role " + word + " contradict each other");
    }
    return role;
  }

  private static int listKeys() {
    System.out.printf("%-10s %-16s %-7s %-28s %s%n", "ID", "TENANT", "ROLE", "CREATED", "NOTE");
    for (Keys.Entry entry : keys().list()) {
      System.out.printf(
          "%-10s %-16s %-7s %-28s %s%n",
          entry.id(), entry.tenant(), entry.role().wireName(), entry.createdAt(), entry.note());
    }
    return 0;
  }

  private static int revokeKey(String id) {
    if (!keys().revoke(id)) {
      System.err.println("ebb: no key " + id + "; ebb key ls lists them");
      return OWN_FAILURE;
    }
    System.out.println(id);
    return 0;
  }
}
