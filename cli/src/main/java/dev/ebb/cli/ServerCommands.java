package dev.ebb.cli;

import java.util.List;
import picocli.CommandLine.Model.CommandSpec;

/**
 * What the server's own program does; the {@code ebb} script starts that for them, and for the help
 * about each. Here they are listed only.
 */
final class ServerCommands {
  private ServerCommands() {}

  static CommandSpec spec(String name) {
    CommandSpec spec = Options.command(name, description(name));
    if (name.equals("key")) {
      for (String verb : List.of("create", "ls", "revoke")) {
        spec.addSubcommand(verb, Options.command(verb, ""));
      }
    }
    return spec;
  }

  private static String description(String name) {
    return switch (name) {
      case "serve" -> "Serve boxes and commands over HTTP, until SIGTERM.";
      case "config" -> "Print what serve would use, and where each value comes from.";
      case "key" -> "Make, list and revoke the keys that open the daemon over TCP.";
      default -> throw new IllegalStateException(name);
    };
  }

  static int run(String name) {
    System.err.println("ebb: " + name + " is started by the script ebb only");
    return Main.OWN_FAILURE;
  }
}
