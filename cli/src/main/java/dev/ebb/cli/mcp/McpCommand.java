package dev.ebb.cli.mcp;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.client.EbbClient;
import java.io.IOException;
import picocli.CommandLine.Model.CommandSpec;

/** {@code ebb mcp}: the Model Context Protocol on stdin and stdout, for programs that start us. */
public final class McpCommand {
  private McpCommand() {}

  public static CommandSpec spec() {
    return Options.command(
        "mcp", "Serve MCP on stdin and stdout: tools for an agent, in boxes that end with it.");
  }

  public static int run(Caller caller) throws IOException {
    try (EbbClient client = DaemonConnection.openOrStart(caller)) {
      return new McpBridge(caller, client.mcp()).run();
    }
  }
}
