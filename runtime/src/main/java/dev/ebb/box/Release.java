package dev.ebb.box;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.init.CallOff;
import dev.ebb.kernel.BoundedWork;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The only end of a box: releases everything it holds in reverse order, continues after failures,
 * and certifies what was observed to be gone. Thread-safe.
 */
final class Release {
  /** All waits of a release have deadlines, which are over long before that. */
  private static final Duration BOUND = Duration.ofMinutes(1);

  private final BoxParts parts;
  private final BoxId id;
  private final BoxHost host;
  private final BoxLifecycle lifecycle;
  private final BoxDirectory directory;
  private final Detachment detachment;
  private final OrderedLock lock;

  /** Called when a thread ends the box, or waits for the lock to do so. */
  private final CallOff ending = new CallOff();

  private volatile @Nullable Certificate certificate;

  /** Whether to remove the directory of the box, too. */
  @GuardedBy("lock")
  private boolean isToForget;

  Release(BoxParts parts, Detachment detachment) {
    this.parts = parts;
    this.detachment = detachment;
    id = parts.id();
    host = parts.host();
    lifecycle = parts.lifecycle();
    directory = parts.directory();
    lock = parts.releasing();
  }

  /** Returns the result so far; set before the state of the box changes. */
  Optional<Certificate> certificate() {
    return Optional.ofNullable(certificate);
  }

  /** Takes over the certificate of another engine that released the box. */
  void found(Certificate proof) {
    certificate = proof;
  }

  CallOff ending() {
    return ending;
  }

  /**
   * Ends the box. A repeated call returns the same certificate, or retries what was stuck.
   *
   * @param keepsLogs whether the output of its commands stays readable until {@link #forget}
   * @param note recorded with the end, for the next engine
   */
  Certificate run(boolean keepsLogs, Map<String, String> note) {
    boolean interrupted = Thread.interrupted();
    // ORDER: a thread that tries to adopt the box holds the lock, and stops waiting at this call.
    ending.call();
    lock.lock();
    try (var _ = BoundedWork.begin("the release of box " + id, BOUND)) {
      return lifecycle.state() == BoxState.GONE ? proof() : release(keepsLogs && !isToForget, note);
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** ORDER: whatever happens, the box becomes gone, or stuck and is tried again. */
  private Certificate release(boolean keepsLogs, Map<String, String> note) {
    lifecycle.become(BoxState.STOPPING);
    BoxState next = BoxState.STUCK;
    try {
      Certificate proof = releaseNow(keepsLogs);
      certificate = proof;
      if (proof.isClean()) {
        detachment.noteEnd(new BoxEnd(Instant.now(), proof, note));
        next = BoxState.GONE;
      }
      return proof;
    } finally {
      lifecycle.become(next);
    }
  }

  private Certificate releaseNow(boolean keepsLogs) {
    var tally = new ReleaseTally();
    attempt(tally, Kind.DESCRIPTOR, "egress of box " + id, parts.network()::close);
    // ORDER: a process that could still start one in the cgroup ends before the cgroup is killed.
    attempt(tally, Kind.PROCESS, "ebb-init outside", () -> parts.init().endOutside(tally));
    attempt(tally, Kind.PROCESS, "of box " + id, () -> new ProcessEnd(parts, tally).run());
    attempt(tally, Kind.DESCRIPTOR, "of box " + id, () -> closeDescriptors(tally));
    attempt(tally, Kind.CGROUP, "of box " + id, () -> removeCgroups(tally));
    if (!keepsLogs) {
      attempt(tally, Kind.DIRECTORY, directory.path().toString(), () -> removeDirectory(tally));
    }
    String user = Integer.toString(parts.holdings().uid());
    attempt(tally, Kind.USER, user, () -> strike(tally));
    return tally.certify(id);
  }

  private interface Attempt {
    void run() throws KernelException, InterruptedException;
  }

  private static void attempt(ReleaseTally tally, Kind kind, String subject, Attempt attempt) {
    try {
      attempt.run();
    } catch (KernelException | RuntimeException e) {
      tally.stuck(kind, subject, String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      tally.stuck(kind, subject, "interrupted");
    }
  }

  private void closeDescriptors(ReleaseTally tally) throws KernelException {
    // ORDER: counted now, since the end of its commands has already closed their input.
    int count = parts.scope().size();
    tally.held(Kind.DESCRIPTOR, count);
    if (!tally.isClean()) {
      // A later release needs these descriptors to wait again for what is stuck.
      return;
    }
    Step.CLOSE_DESCRIPTORS.reach();
    host.scope().release(parts.scope());
    tally.released(Kind.DESCRIPTOR, count);
  }

  private void removeCgroups(ReleaseTally tally) throws KernelException {
    if (!tally.isClean()) {
      presentCgroups()
          .forEach(path -> tally.stuck(Kind.CGROUP, path.toString(), "kept with its processes"));
      return;
    }
    try {
      Step.REMOVE_CGROUPS.reach();
      int count = parts.enclosure().remove();
      tally.held(Kind.CGROUP, count);
      tally.released(Kind.CGROUP, count);
    } catch (KernelException e) {
      tally.held(Kind.CGROUP, (int) presentCgroups().count());
      throw e;
    }
  }

  private Stream<Path> presentCgroups() {
    Enclosure enclosure = parts.enclosure();
    return Stream.concat(enclosure.paths().stream(), enclosure.leaves().lanePaths().stream())
        .filter(path -> path.toFile().exists());
  }

  private void removeDirectory(ReleaseTally tally) {
    int count = directory.isHeld() ? 1 : 0;
    tally.held(Kind.DIRECTORY, count);
    try {
      forgetDirectory();
    } catch (KernelException e) {
      tally.stuck(Kind.DIRECTORY, directory.path().toString(), directory.whyItStays(e));
      return;
    }
    tally.released(Kind.DIRECTORY, count);
  }

  private void strike(ReleaseTally tally) throws KernelException {
    BoxHoldings holdings = parts.holdings();
    if (!holdings.hasUid()) {
      return;
    }
    int users = holdings.isUidShared() ? 0 : 1;
    tally.held(Kind.USER, users);
    if (!tally.isClean()) {
      tally.stuck(
          Kind.USER, Integer.toString(holdings.uid()), "kept while something of it remains");
      return;
    }
    Step.STRIKE_BOX.reach();
    holdings.strikeAll();
    Step.RETURN_UID.reach();
    holdings.giveUidBack();
    tally.released(Kind.USER, users);
  }

  // --- the kept output of a stopped box ---

  /**
   * Removes the kept output of a stopped box. If something cannot be removed, the box is stuck: the
   * certificate names it, and a later release tries again.
   */
  Certificate forget() {
    lock.lock();
    try {
      BoxState state = lifecycle.state();
      if (state == BoxState.GONE) {
        isToForget = true;
        forgetOrKeep();
      } else if (state != BoxState.STUCK) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "box " + id + " is " + state.wireName());
      }
      return proof();
    } finally {
      lock.unlock();
    }
  }

  private void forgetOrKeep() {
    try {
      forgetDirectory();
    } catch (KernelException | RuntimeException e) {
      certificate =
          proof().butStuck(Kind.DIRECTORY, directory.path().toString(), directory.whyItStays(e));
      lifecycle.become(BoxState.STUCK);
    }
  }

  private void forgetDirectory() throws KernelException {
    if (directory.remove()) {
      detachment.forgotten();
    }
  }

  private Certificate proof() {
    Certificate seen = certificate;
    return seen == null ? new ReleaseTally().certify(id) : seen;
  }
}
