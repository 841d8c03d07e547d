package dev.ebb.init;

import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The execs of a box that have not ended, each with the listener for its messages. */
final class ExecTable {
  private final Map<Integer, ExecEvents> execs = new ConcurrentHashMap<>();

  void add(int exec, ExecEvents events) {
    execs.put(exec, events);
  }

  boolean contains(int exec) {
    return execs.containsKey(exec);
  }

  Optional<ExecEvents> find(int exec) {
    return Optional.ofNullable(execs.get(exec));
  }

  Optional<ExecEvents> remove(int exec) {
    return Optional.ofNullable(execs.remove(exec));
  }

  /** Drops all listeners without notice. */
  void clear() {
    execs.clear();
  }

  /** Init is gone, and so is every exec that has not ended. */
  void loseAll() {
    for (int exec : List.copyOf(execs.keySet())) {
      remove(exec).ifPresent(ExecEvents::lost);
    }
  }

  /**
   * ORDER: by now the ends of all ended commands were received, and these are no longer on our
   * list.
   */
  void keepOnly(Set<Integer> known) {
    for (int exec : List.copyOf(execs.keySet())) {
      if (!known.contains(exec)) {
        remove(exec).ifPresent(ExecEvents::unknown);
      }
    }
  }

  // --- messages of init about one command ---

  void started(int exec, ByteBuffer body) throws KernelException {
    Step.HEAR_STARTED.reach();
    int pid = body.getInt();
    int subreaper = body.getInt();
    find(exec).ifPresent(events -> events.started(pid, subreaper));
  }

  void output(int exec, ByteBuffer body) {
    long stdout = body.getLong();
    long stderr = body.getLong();
    find(exec)
        .ifPresent(
            events -> {
              Protocol.buffered(body, events);
              events.output(stdout, stderr);
            });
  }

  void segment(int exec, ByteBuffer body) {
    var segment = Protocol.segment(body);
    find(exec)
        .ifPresent(
            events -> {
              Protocol.buffered(body, events);
              events.segment(segment);
            });
  }

  /** ORDER: parsed first. An exec that is off the list already would never receive its end. */
  void refused(int exec, ByteBuffer body) {
    var step = Protocol.step(body.getInt());
    int errno = body.getInt();
    remove(exec).ifPresent(events -> events.refused(step, errno));
  }

  /** ORDER: understood first, as {@link #refused} is. */
  void ended(int exec, ByteBuffer body) throws KernelException {
    Step.HEAR_ENDED.reach();
    var ended = Protocol.ended(body);
    find(exec).ifPresent(events -> Protocol.buffered(body, events));
    remove(exec).ifPresent(events -> events.ended(ended));
  }
}
