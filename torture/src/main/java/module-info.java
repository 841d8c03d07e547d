/** The tests of Ebb on a user's host: {@code ebb torture} and {@code ebb soak}. */
module dev.ebb.torture {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.ebb.client;
  requires transitive dev.ebb.kernel;
  requires transitive dev.ebb.oracle;

  exports dev.ebb.torture;
  exports dev.ebb.torture.host;
  exports dev.ebb.torture.soak;
}
