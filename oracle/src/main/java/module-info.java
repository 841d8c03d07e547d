/** Detects what was left on a host. */
module dev.ebb.oracle {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires dev.ebb.kernel;

  exports dev.ebb.oracle;
}
