/** Fixtures and fakes for the tests of the other modules. */
module dev.ebb.testkit {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires dev.ebb.kernel;
  requires org.assertj.core;
  requires org.junit.jupiter.api;

  exports dev.ebb.testkit;
}
