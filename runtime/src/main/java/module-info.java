/** The engine of Ebb, embeddable in any JVM. */
module dev.ebb.runtime {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires transitive dev.ebb.kernel;

  exports dev.ebb.backend;
  exports dev.ebb.box;
  exports dev.ebb.cgroup;
  exports dev.ebb.code;
  exports dev.ebb.egress;
  exports dev.ebb.engine;
  exports dev.ebb.exec;
  exports dev.ebb.ledger;
  exports dev.ebb.model;
  exports dev.ebb.pool;
  exports dev.ebb.pressure;
  exports dev.ebb.process;
  exports dev.ebb.supervision;
}
