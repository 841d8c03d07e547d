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

/** The box as a command that runs in it needs it. Only the exec layer uses it. Thread-safe. */
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

  /** Returns whether the box died by itself, whatever happened since. */
  public boolean wasLost() {
    return parts.lifecycle().wasLost();
  }

  /** Returns whether the box outlives this engine. */
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

  /** Throws if the backend of the box lacks this capability. */
  public void require(Capability capability) {
    parts.backend().require(capability);
  }

  public Footprint footprint() {
    return box.footprint();
  }

  // --- starting ---

  /** Returns a number that no exec of the box ever had. */
  public int nextNumber() {
    return numbers.incrementAndGet();
  }

  /** Notes that an exec of an earlier engine had the number {@code highest}. */
  void neverAgain(int highest) {
    numbers.accumulateAndGet(highest, Math::max);
  }

  public OperatorLane lane() {
    return parts.lane();
  }

  public Leaf leaf(int exec) {
    return new Leaf(parts, exec, has(Capability.LEAVES));
  }

  /** Returns whether each exec has its own cgroup. */
  public boolean hasLeaves() {
    return has(Capability.LEAVES) && !parts.enclosure().paths().isEmpty();
  }

  /** Opens a scope for the descriptors of one exec, which is closed with the box at the latest. */
  public Scope openScope() throws KernelException {
    return Scope.in(parts.scope());
  }

  public void release(Scope scope) throws KernelException {
    parts.scope().release(scope);
  }

  // --- running ---

  /** Returns the sandbox; throws once the end of the box has begun. */
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
   * Processes everything that init, and other processes, have sent until now.
   *
   * @return false on a timeout
   */
  public boolean catchUp() throws InterruptedException {
    return parts.host().catchUp();
  }

  /** Returns the directory with the output and the records of its execs. */
  public BoxDirectory directory() {
    return parts.directory();
  }

  // --- ending ---

  /**
   * Returns how many processes of this box the OOM killer has killed, as far as the kernel reports
   * it.
   */
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

  /**
   * Notes that processes from outside were in the cgroup of {@code exec} and were killed with it.
   */
  public void strangersKilled(int exec) {
    parts.host().strangers().killedWith(box.id(), exec);
  }
}
