package dev.ebb.box;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.Capability;
import dev.ebb.backend.Sandbox;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether a box outlives its engine, and the record about it that the next engine reads. {@link
 * Adoption} is the other side. Thread-safe.
 */
public final class Detachment {
  private static final Logger LOG = System.getLogger(Detachment.class.getName());

  private final BoxParts parts;
  private final BoxDirectory directory;
  private final Supplier<BoxSpec> spec;
  private final OrderedLock lock;
  private volatile boolean detached;

  /** The engine is ending, and the box was not detached before. */
  @GuardedBy("lock")
  private boolean isToEnd;

  private volatile @Nullable BoxEnd end;

  Detachment(BoxParts parts, Supplier<BoxSpec> spec) {
    this.parts = parts;
    this.spec = spec;
    directory = parts.directory();
    lock = parts.releasing();
  }

  /** Used by the engine of {@code box}. */
  public static Detachment of(Box box) {
    return box.detachment();
  }

  boolean isDetached() {
    return detached;
  }

  void detach(Optional<Instant> endsAt, Map<String, String> note) {
    lock.lock();
    try (var brief = new Scope()) {
      if (isToEnd) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE, "box " + parts.id() + " ends with its engine");
      }
      Sandbox up = parts.init().sandbox();
      parts.backend().require(Capability.DETACH);
      var left = endsAt.map(last -> Duration.between(Instant.now(), last));
      BoxRecord record = record(up, endsAt, note);
      directory.make();
      directory.holdRecord();
      Step.WRITE_RECORD.reach();
      directory.journal().append(record.entry());
      // ORDER: from here on it lives on without this engine, and the next one must be able to find
      // it.
      up.detach(directory.open(brief), left.map(Detachment::atLeastAMoment).orElse(Duration.ZERO));
      Step.CALL_DETACHED.reach();
      detached = true;
      confirm();
    } catch (KernelException e) {
      throw new SandboxException(
          ErrorCode.SETUP_FAILED, "cannot detach box " + parts.id() + ": " + e.getMessage(), e);
    } finally {
      lock.unlock();
    }
  }

  private BoxRecord record(Sandbox up, Optional<Instant> endsAt, Map<String, String> note) {
    return new BoxRecord(
        spec.get(),
        parts.holdings().uid(),
        parts.backend().name(),
        BoxRecord.HexNonce.of(up.nonce()),
        ProcessRef.of(parts.init().pid()),
        endsAt,
        note);
  }

  /** At least one: zero means never. */
  private static Duration atLeastAMoment(Duration left) {
    return left.isPositive() ? left : Duration.ofMillis(1);
  }

  // --- the record ---

  /** Records that init lives on. Until then the box is not detached, whatever its record says. */
  public void confirm() throws KernelException {
    Step.CONFIRM_DETACHED.reach();
    directory.journal().append(BoxRecord.detachedEntry());
  }

  /** Returns whether the record says that init lives on. */
  public boolean isConfirmed() throws IOException {
    return BoxRecord.isConfirmed(directory.journal().read());
  }

  /** Returns whether the record has no entry; an unreadable record counts as having some. */
  public boolean isUnwritten() {
    try {
      return directory.journal().read().isEmpty();
    } catch (IOException | RuntimeException e) {
      // The failed adoption has logged this.
      return false;
    }
  }

  /** Returns how the box ended, if another engine saw that. */
  public Optional<BoxEnd> end() {
    return Optional.ofNullable(end);
  }

  void noteNetwork(Network wanted) throws KernelException {
    if (detached) {
      Step.NOTE_NETWORK.reach();
      directory.journal().append(BoxRecord.networkEntry(wanted));
    }
  }

  void noteEnd(BoxEnd seen) {
    if (detached) {
      try {
        Step.NOTE_END.reach();
        directory.journal().append(seen.entry());
      } catch (KernelException e) {
        LOG.log(Level.WARNING, "event=record_failed, ignoring: its processes are not there", e);
      }
    }
  }

  /** Notes that another engine had detached the box. */
  void found() {
    detached = true;
  }

  /** Notes that another engine saw the box end. */
  void foundEnded(BoxEnd seen) {
    end = seen;
  }

  /** Notes that the record is removed. */
  void forgotten() {
    detached = false;
  }

  // --- leaving it ---

  /**
   * Leaves the box if it is detached. RACE: a box that is not detached by now never will be: a
   * concurrent detach either fails, or came first and the box lives on.
   */
  public boolean leaveIfDetached() {
    lock.lock();
    try {
      isToEnd = !detached;
      if (detached) {
        letGo();
      }
      return detached;
    } finally {
      lock.unlock();
    }
  }

  /** Closes all descriptors of a box that lives on; its object must not be used afterwards. */
  void letGo() {
    try {
      Step.LEAVE.reach();
      parts.init().anySandbox().ifPresent(Sandbox::leave);
      parts.host().scope().release(parts.scope());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }
}
