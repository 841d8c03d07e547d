/** The daemon's door for agents: the Model Context Protocol, using its official SDK. */
module dev.ebb.mcp {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires dev.ebb.runtime;
  requires dev.ebb.server;
  requires io.modelcontextprotocol.sdk.mcp.core;
  requires io.modelcontextprotocol.sdk.mcp.json.jackson3;
  requires java.logging;
  requires reactor.core;
  requires org.reactivestreams;
  // The SDK's jars are automatic modules, which cannot declare that they need it.
  requires tools.jackson.databind;

  provides dev.ebb.server.http.Door.Provider with
      dev.ebb.mcp.McpProvider;
}
