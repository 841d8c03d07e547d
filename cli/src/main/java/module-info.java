/** The ebb command. */
module dev.ebb.cli {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires dev.ebb.client;
  requires dev.ebb.json;
  requires dev.ebb.runtime;
  requires dev.ebb.torture;
  requires info.picocli;
  requires jdk.unsupported;

  provides dev.ebb.engine.Handover with
      dev.ebb.cli.front.FrontCommands;
}
