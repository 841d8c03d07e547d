/** The daemon's REST interface for Java programs; needs nothing but the JDK. */
module dev.ebb.client {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;

  exports dev.ebb.client;
  exports dev.ebb.client.json;
}
