package dev.ebb.engine;

import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.box.Making;
import dev.ebb.box.StoppedBox;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.supervision.Audit;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The boxes of one engine. Each is known from before its first ledger line until its certificate is
 * clean. Thread-safe.
 */
final class KnownBoxes implements Audit.Population, AutoCloseable {
  private static final Logger LOG = System.getLogger(KnownBoxes.class.getName());

  private final BoxHost host;
  private final Set<Box> boxes = ConcurrentHashMap.newKeySet();

  /** The boxes that could be neither made nor unwound; each is in {@link #boxes}, too. */
  private final Set<Box> unfinished = ConcurrentHashMap.newKeySet();

  /** The ids that have ledger lines and are no boxes yet. */
  private final Set<String> inMaking = ConcurrentHashMap.newKeySet();

  /** The output of boxes whose objects were dropped, by id. */
  private final Map<String, StoppedBox> stopped = new ConcurrentHashMap<>();

  private final Retries retries = new Retries(this::releaseAgain);

  KnownBoxes(BoxHost host) {
    this.host = host;
  }

  Box make(BoxId id, BoxSpec spec, boolean wantsCopy, Consumer<BoxState> listener) {
    try {
      // ORDER: while it has lines, it is always one of the two.
      inMaking.add(id.value());
      Box box = Making.make(host, id, spec, wantsCopy, listener, this::keepUnfinished);
      boxes.add(box);
      return box;
    } finally {
      inMaking.remove(id.value());
    }
  }

  boolean isMaking() {
    return !inMaking.isEmpty();
  }

  /** Adds a box that another engine made. */
  void add(Box box) {
    boxes.add(box);
  }

  private void keepUnfinished(Box box) {
    boxes.add(box);
    unfinished.add(box);
  }

  /** Leaves a box to the next audit, which ends it. */
  void leaveToAudit(Box box) {
    unfinished.add(box);
  }

  /** Forgets a box after another object has taken over its resources. */
  void remove(Box box) {
    boxes.remove(box);
  }

  @Override
  public Collection<Box> boxes() {
    return boxes;
  }

  @Override
  public Collection<Box> unfinished() {
    return unfinished;
  }

  /**
   * Returns whether lines belong to a box; the resources of a backend are known by its name.
   *
   * <p>ORDER: ids in the making first, since these become boxes and never the reverse.
   */
  @Override
  public boolean isKnown(String box) {
    return host.backends().find(box).isPresent()
        || inMaking.contains(box)
        || stopped.containsKey(box)
        || boxes.stream().anyMatch(each -> each.id().value().equals(box));
  }

  /** Ends a box and proves it; retries a stuck box until it is gone or the engine is closed. */
  @Override
  public Certificate release(Box box) {
    Certificate certificate = box.release();
    if (certificate.isClean()) {
      // A box that was stopped before still has its logs.
      certificate = forget(box);
    }
    if (!certificate.isClean()) {
      retries.add(box);
    }
    return certificate;
  }

  private boolean releaseAgain(Box box) {
    Certificate certificate = box.release();
    boolean isClean = certificate.isClean() && forget(box).isClean();
    if (isClean) {
      LOG.log(Level.INFO, "event=stuck_box_released box={0}", box.id());
    }
    return isClean;
  }

  /** Drops the object of a box that is gone; from now on it is known by its output. */
  void retire(Box box) {
    String id = box.id().value();
    // ORDER: the audit must never take its directory for a stray.
    stopped.put(id, StoppedBox.of(box));
    if (!boxes.remove(box)) {
      // RACE: it was forgotten meanwhile.
      stopped.remove(id);
    }
  }

  /** Returns the output of boxes whose objects were dropped. */
  Collection<StoppedBox> stopped() {
    return stopped.values();
  }

  /** Forgets a box that has ended; empty if it does not exist. */
  Optional<Certificate> forget(BoxId id) {
    StoppedBox left = stopped.get(id.value());
    if (left == null) {
      return boxes.stream().filter(box -> box.id().equals(id)).findFirst().map(this::forgetSurely);
    }
    Certificate certificate = left.forget();
    if (certificate.isClean()) {
      stopped.remove(id.value());
    }
    return Optional.of(certificate);
  }

  /** Forgets a box that has ended, even if it was stuck in an earlier attempt. */
  private Certificate forgetSurely(Box box) {
    Certificate certificate = box.state() == BoxState.STUCK ? box.release() : forget(box);
    return certificate.isClean() ? forget(box) : certificate;
  }

  /** Removes the output of a stopped box; if that fails, the box is stuck. */
  Certificate forget(Box box) {
    Certificate certificate = box.forget();
    if (certificate.isClean()) {
      boxes.remove(box);
      unfinished.remove(box);
      stopped.remove(box.id().value());
    } else {
      boxes.add(box);
    }
    return certificate;
  }

  /** Ends the retries, and waits for one in progress; releases no box. */
  @Override
  public void close() {
    retries.close();
  }
}
