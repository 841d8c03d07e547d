/** Fixtures, fakes and common rules for the tests of the other modules. */
@SuppressWarnings("requires-automatic") // ArchUnit is not a module
module dev.ebb.testkit {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.ebb.kernel;
  requires transitive dev.ebb.oracle;
  requires static com.tngtech.archunit;
  requires java.logging;
  requires java.management;
  requires jdk.management;
  requires org.assertj.core;
  requires transitive org.junit.jupiter.api;

  exports dev.ebb.testkit;
}
