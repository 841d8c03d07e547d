package dev.ebb.cli;

import dev.ebb.client.EbbClient;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import picocli.CommandLine.Model.CommandSpec;

/** {@code ebb mcp}: the Model Context Protocol on stdin and stdout, for programs that start us. */
final class McpCommand {
  private McpCommand() {}

  static CommandSpec spec() {
    return Options.command(
        "mcp", "Speak MCP on stdin and stdout: tools for an agent, in a box that goes with it.");
  }

  /** Nothing but messages is ever written to stdout, so nobody else gets hold of it. */
  static int run() throws IOException {
    var out = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err);
    try (EbbClient client = DaemonConnection.openOrStart()) {
      return new McpBridge(client.mcp(), new FileInputStream(FileDescriptor.in), out).run();
    }
  }
}
