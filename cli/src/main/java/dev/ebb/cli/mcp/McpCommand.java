package dev.ebb.cli.mcp;

import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.client.EbbClient;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import picocli.CommandLine.Model.CommandSpec;

/** {@code ebb mcp}: the Model Context Protocol on stdin and stdout, for programs that start us. */
public final class McpCommand {
  private McpCommand() {}

  public static CommandSpec spec() {
    return Options.command(
        "mcp", "Serve MCP on stdin and stdout: tools for an agent, in boxes that end with it.");
  }

  /** Nothing but messages is ever written to stdout, so no other code gets hold of it. */
  public static int run() throws IOException {
    var out = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err);
    try (EbbClient client = DaemonConnection.openOrStart()) {
      return new McpBridge(client.mcp(), new FileInputStream(FileDescriptor.in), out).run();
    }
  }
}
