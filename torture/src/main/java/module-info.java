/** ebb torture: hostile workloads and kills at random moments, and what is left. */
module dev.ebb.torture {
  requires static transitive com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires dev.ebb.client;
  requires dev.ebb.kernel;
  requires dev.ebb.oracle;

  exports dev.ebb.torture;
}
