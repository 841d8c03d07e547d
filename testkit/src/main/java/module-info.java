/** Fixtures and fakes for the tests of the other modules. */
module dev.ebb.testkit {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.ebb.kernel;
  requires transitive dev.ebb.oracle;
  requires java.logging;
  requires java.management;
  requires jdk.management;
  requires transitive org.junit.jupiter.api;

  exports dev.ebb.testkit;
}
