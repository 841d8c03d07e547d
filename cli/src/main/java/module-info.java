/** The ebb command. */
module dev.ebb.cli {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires dev.ebb.client;
  requires dev.ebb.runtime;
  requires dev.ebb.torture;
  requires info.picocli;
  requires io.avaje.json;
  requires jdk.unsupported;
}
