package dev.ebb.box;

import dev.ebb.backend.Capability;
import dev.ebb.init.CallOff;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One sandbox.
 *
 * <p>{@link Making} makes it or {@link Adoption} finds it, {@link Release} ends it. Thread-safe.
 * Owns its cgroups, its init, its control socket and its host uid.
 */
public final class Box {
  private static final Duration FREEZE_BOUND = Duration.ofSeconds(10);

  private final BoxParts parts;
  private final BoxId id;
  private final BoxLifecycle lifecycle;
  private final Detachment detachment;
  private final Release release;
  private final ExecSite execSite;
  private final Footprint footprint;
  private volatile BoxSpec spec;

  Box(BoxParts parts, BoxSpec spec) {
    this.parts = parts;
    this.spec = spec;
    id = parts.id();
    lifecycle = parts.lifecycle();
    detachment = new Detachment(parts, () -> this.spec);
    release = new Release(parts, detachment);
    execSite = new ExecSite(this, parts);
    footprint = new Footprint(parts);
  }

  // --- what it is ---

  public BoxId id() {
    return id;
  }

  public BoxSpec spec() {
    return spec;
  }

  public BoxState state() {
    return lifecycle.state();
  }

  /**
   * Calls {@code listener} for each change of state from now on, in order. The listener must not
   * block.
   *
   * @return the state before the first of these changes
   */
  public BoxState listen(Consumer<BoxState> listener) {
    return lifecycle.listen(listener);
  }

  /** Returns what it has on the host. */
  public Footprint footprint() {
    return footprint;
  }

  /** Returns the site where commands run. */
  public ExecSite execSite() {
    return execSite;
  }

  // --- changing it ---

  /**
   * Freezes its commands; no-op if they are frozen already.
   *
   * <p>RACE: a command that is frozen before it runs would keep its caller waiting. So each command
   * is started before the freeze or refused after it.
   */
  public void pause() {
    try {
      parts.lane().whileNoneStarts(() -> freeze(BoxState.PAUSED, true));
    } catch (KernelException e) {
      throw cannotPause(e);
    }
  }

  /** Thaws its commands. */
  public void resume() {
    freeze(BoxState.RUNNING, false);
  }

  private void freeze(BoxState next, boolean frozen) {
    parts.backend().require(Capability.FREEZE);
    if (!parts.enclosure().canFreeze()) {
      throw new SandboxException(
          ErrorCode.UNSUPPORTED, "a box can be paused only where there are cgroups: ebb doctor");
    }
    parts.releasing().lock();
    try {
      lifecycle.requireUp(id);
      if (state() != next) {
        parts.enclosure().freeze(frozen, Deadline.in(FREEZE_BOUND));
        lifecycle.become(next);
      }
    } catch (KernelException e) {
      throw cannotPause(e);
    } finally {
      parts.releasing().unlock();
    }
  }

  private SandboxException cannotPause(KernelException e) {
    return new SandboxException(
        ErrorCode.SETUP_FAILED, "cannot pause box " + id + ": " + e.getMessage(), e);
  }

  /**
   * Changes the hosts it may reach. Running commands go on; when this returns, their connections to
   * hosts that are no longer allowed are closed. Commands started later get the variables of the
   * proxy.
   */
  public void changeNetwork(Network wanted) throws InterruptedException {
    parts.releasing().lock();
    try {
      lifecycle.requireUp(id);
      if (!wanted.policy().isEmpty()) {
        parts.backend().require(Capability.EGRESS);
      }
      parts.network().change(spec.network(), wanted, detachment);
      spec = spec.withNetwork(wanted);
    } finally {
      parts.releasing().unlock();
    }
  }

  /** Makes {@code wanted} its specification, see {@link MadeAhead}. */
  void specialised(BoxSpec wanted) {
    spec = wanted;
  }

  /**
   * Detaches it: it outlives this engine, and the next engine adopts it.
   *
   * @param endsAt when its init ends the box; empty: never
   * @param note text that the next engine returns with the box
   */
  public void detach(Optional<Instant> endsAt, Map<String, String> note) {
    detachment.detach(endsAt, note);
  }

  /** Returns whether it outlives this engine. */
  public boolean isDetached() {
    return detachment.isDetached();
  }

  // --- ending it ---

  /**
   * Ends the box and proves it: releases everything it held, in reverse order, and continues after
   * failures. A repeated call returns the same certificate, or retries what was stuck.
   */
  public Certificate release() {
    return release.run(false, Map.of());
  }

  /**
   * Like {@link #release}, but the output of its commands stays readable until {@link #forget}.
   *
   * @param note text that the next engine returns with its end
   */
  public Certificate stop(Map<String, String> note) {
    return release.run(true, note);
  }

  /**
   * Removes the output of a stopped box. If a file cannot be removed, the box is stuck: the
   * certificate names the file, and a release retries.
   */
  public Certificate forget() {
    return release.forget();
  }

  /** Returns the result of its release so far; set before the state changes. */
  public Optional<Certificate> certificate() {
    return release.certificate();
  }

  // --- for those that make, adopt and leave it ---

  BoxParts parts() {
    return parts;
  }

  Detachment detachment() {
    return detachment;
  }

  /** Called off when the end of the box begins. */
  CallOff ending() {
    return release.ending();
  }

  /** Notes an end that another engine saw. */
  void foundEnded(BoxEnd end) {
    detachment.foundEnded(end);
    release.found(end.certificate());
  }
}
