/** The daemon's REST interface for Java programs; has no third-party dependency. */
module dev.ebb.client {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires transitive dev.ebb.json;

  exports dev.ebb.client;
}
