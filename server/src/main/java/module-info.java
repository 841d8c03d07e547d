/** The daemon: boxes and commands over HTTP. */
@SuppressWarnings(
    "module") // those of doors are compiled after this one, and loaded later, see ModuleDoor
module dev.ebb.server {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires dev.ebb.json;
  requires dev.ebb.runtime;
  requires info.picocli;
  requires io.prometheus.metrics.core;
  requires io.prometheus.metrics.model;
  requires io.prometheus.writer.text;
  requires java.logging;
  requires java.management;
  requires jdk.net;
  requires jdk.unsupported;
  requires org.eclipse.jetty.server;
  requires org.eclipse.jetty.unixdomain.server;
  requires org.eclipse.jetty.websocket.api;
  requires org.eclipse.jetty.websocket.server;
  requires org.tomlj;

  exports dev.ebb.server.answer to
      dev.ebb.mcp;
  exports dev.ebb.server.doors to
      dev.ebb.mcp;
  exports dev.ebb.server.http to
      dev.ebb.mcp;
  exports dev.ebb.server.schema to
      dev.ebb.mcp;
  exports dev.ebb.server.service to
      dev.ebb.mcp;
  exports dev.ebb.server.service.access to
      dev.ebb.mcp;

  uses dev.ebb.engine.Handover;
  uses dev.ebb.server.http.Door.Provider;

  // Jetty finds the methods of a WebSocket by its public lookup, which sees only what all may see.
  opens dev.ebb.server.rest;
}
