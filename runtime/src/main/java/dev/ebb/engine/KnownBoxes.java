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
 * The boxes of one engine, from before the first ledger line of each until its certificate is
 * clean. Thread-safe.
 */
final class KnownBoxes implements Audit.Population, AutoCloseable {
  private static final Logger LOG = System.getLogger(KnownBoxes.class.getName());

  private final BoxHost host;
  private final Set<Box> boxes = ConcurrentHashMap.newKeySet();

  /** The boxes that could be neither made nor unwound; each is in {@link #boxes}, too. */
  private final Set<Box> unfinished = ConcurrentHashMap.newKeySet();

  /** The ids that have lines on the ledger, and are no boxes yet. */
  private final Set<String> inMaking = ConcurrentHashMap.newKeySet();

  /** What boxes have left to read whose objects were let go, by id. */
  private final Map<String, StoppedBox> stopped = new ConcurrentHashMap<>();

  private final Retries retries = new Retries(this::releaseAgain);

  KnownBoxes(BoxHost host) {
    this.host = host;
  }

  Box make(BoxId id, BoxSpec spec, boolean wantsCopy, Consumer<BoxState> listener) {
    try {
      // ORDER: there is no moment at which it has lines, and is neither.
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

  /** Leaves one of the boxes to the next audit, which ends it. */
  void leaveToAudit(Box box) {
    unfinished.add(box);
  }

  /** Forgets a box of which another object has taken over everything. */
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
   * What a backend holds for itself is known by its name.
   *
   * <p>ORDER: in the making first, for it becomes a box, and never the other way round.
   */
  @Override
  public boolean isKnown(String box) {
    return host.backends().find(box).isPresent()
        || inMaking.contains(box)
        || stopped.containsKey(box)
        || boxes.stream().anyMatch(each -> each.id().value().equals(box));
  }

  /** Ends a box and proves it; a stuck box is released again until it is gone, or we are closed. */
  @Override
  public Certificate release(Box box) {
    Certificate certificate = box.release();
    if (certificate.isClean()) {
      // One that was stopped before still has its logs.
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

  /** Lets the object of a box go that is gone: from now on it is known by what it left to read. */
  void retire(Box box) {
    String id = box.id().value();
    // ORDER: there is no moment at which the audit would take its directory for a stray.
    stopped.put(id, StoppedBox.of(box));
    if (!boxes.remove(box)) {
      // RACE: it was forgotten meanwhile.
      stopped.remove(id);
    }
  }

  /** What those have left to read whose objects were let go. */
  Collection<StoppedBox> stopped() {
    return stopped.values();
  }

  /** Forgets a box that has ended; empty if it is not there. */
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

  /** Forgets a box that has ended, also one of which something was stuck when that was tried. */
  private Certificate forgetSurely(Box box) {
    Certificate certificate = box.state() == BoxState.STUCK ? box.release() : forget(box);
    return certificate.isClean() ? forget(box) : certificate;
  }

  /** Removes what a stopped box had left to read; what cannot be removed makes it stuck. */
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

  /** Ends the retries, and waits for one that has begun; releases no box. */
  @Override
  public void close() {
    retries.close();
  }
}
