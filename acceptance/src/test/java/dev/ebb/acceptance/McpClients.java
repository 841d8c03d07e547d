package dev.ebb.acceptance;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The official clients of MCP, as npm has them. */
final class McpClients {
  private static final List<String> FILES =
      List.of("client.mjs", "every-tool.mjs", "cancel.mjs", "hold.mjs", "many.mjs");

  /** The Inspector's command line. */
  static final String INSPECTOR = "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js";

  private McpClients() {}

  /** With {@code home} for the {@code ebb mcp} that they start. */
  static NodePackage of(Path home) throws IOException, InterruptedException {
    return NodePackage.install(
        "mcp", FILES, Map.of("EBB_HOME", home.toString(), "EBB_BUILD", "never"));
  }
}
