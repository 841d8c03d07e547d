/**
 * The engine of Ebb, embeddable in any JVM: {@code engine} and the values of {@code model}, with
 * the boxes, commands, code and admission that the engine hands out. All else is for Ebb's own
 * modules.
 */
@SuppressWarnings("module") // those that are named here are compiled after this one
module dev.ebb.runtime {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires transitive dev.ebb.kernel;

  exports dev.ebb.admission;
  exports dev.ebb.box;
  exports dev.ebb.code;
  exports dev.ebb.engine;
  exports dev.ebb.exec;
  exports dev.ebb.model;
  exports dev.ebb.cgroup to
      dev.ebb.bench;
  exports dev.ebb.egress to
      dev.ebb.server;
  exports dev.ebb.ledger to
      dev.ebb.bench;
  exports dev.ebb.pool to
      dev.ebb.server;
  exports dev.ebb.process to
      dev.ebb.server,
      dev.ebb.cli,
      dev.ebb.bench;
  exports dev.ebb.store to
      dev.ebb.server;
  exports dev.ebb.supervision to
      dev.ebb.server,
      dev.ebb.cli;
}
