package dev.ebb.box;

import dev.ebb.backend.Capability;
import dev.ebb.backend.Sandbox;
import dev.ebb.init.Discards;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/** What a command needs of the box it runs in. Only the layer of execs uses it. Thread-safe. */
public final class ExecSite {
  private final Box box;
  private final BoxParts parts;
  private final AtomicInteger numbers = new AtomicInteger();

  ExecSite(Box box, BoxParts parts) {
    this.box = box;
    this.parts = parts;
  }

  // --- the box ---

  public BoxId id() {
    return box.id();
  }

  public BoxSpec spec() {
    return box.spec();
  }

  public boolean isAlive() {
    return box.state().isAlive();
  }

  /** The box died by itself, whatever became of it since. */
  public boolean wasLost() {
    return parts.lifecycle().wasLost();
  }

  /** The box outlives this engine. */
  public boolean isDetached() {
    return box.isDetached();
  }

  /** Throws unless a command can be started in the box. */
  public void requireRunning() {
    parts.lifecycle().requireRunning(box.id());
  }

  public boolean has(Capability capability) {
    return parts.backend().has(capability);
  }

  /** Throws where the backend of the box cannot do this. */
  public void require(Capability capability) {
    parts.backend().require(capability);
  }

  public Footprint footprint() {
    return box.footprint();
  }

  // --- starting ---

  /** A number that no exec of the box ever had. */
  public int nextNumber() {
    return numbers.incrementAndGet();
  }

  /** An exec of an engine before this one had the number {@code highest}. */
  void neverAgain(int highest) {
    numbers.accumulateAndGet(highest, Math::max);
  }

  public OperatorLane lane() {
    return parts.lane();
  }

  public Leaf leaf(int exec) {
    return new Leaf(parts, exec, has(Capability.LEAVES));
  }

  /** Whether an exec has a cgroup of its own. */
  public boolean hasLeaves() {
    return has(Capability.LEAVES) && !parts.enclosure().paths().isEmpty();
  }

  /** Opens a scope for the descriptors of one exec; they are closed with the box at the latest. */
  public Scope openScope() throws KernelException {
    return Scope.in(parts.scope());
  }

  public void release(Scope scope) throws KernelException {
    parts.scope().release(scope);
  }

  // --- running ---

  /** To be asked while the end of the box has not begun. */
  public Sandbox sandbox() {
    return parts.init().sandbox();
  }

  public Poller poller() {
    return parts.host().poller();
  }

  public Discards discards() {
    return parts.host().discards();
  }

  /**
   * Processes all that init, and any other process, has sent until now.
   *
   * @return false when that took too long
   */
  public boolean hearOut() throws InterruptedException {
    return parts.host().hearOut();
  }

  /** The output and the records of its execs. */
  public BoxDirectory directory() {
    return parts.directory();
  }

  // --- ending ---

  /** How often the OOM killer struck in this box, as far as the kernel tells. */
  public long oomKills() throws KernelException {
    return parts.enclosure().accounting().oomKills();
  }

  /** Calls {@code listener} with the number of {@link #oomKills} whenever it rises. */
  public void whenOutOfMemory(LongConsumer listener) {
    parts.oomWatch().add(listener);
  }

  public void forget(LongConsumer listener) {
    parts.oomWatch().remove(listener);
  }

  /** Processes from outside were in the cgroup of {@code exec} and were killed with it. */
  public void strangersKilled(int exec) {
    parts.host().strangers().killedWith(box.id(), exec);
  }
}
