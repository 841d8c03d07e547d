package dev.ebb.server.service;

import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.model.BoxState;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;

/**
 * Takes over the boxes that the daemon before this one had detached: at the start, and later those
 * that did not answer then. Thread-safe.
 */
final class Adoption implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Adoption.class.getName());

  private final Facilities facilities;
  private final BoxList list;
  private final BoxNames names;
  private final IdempotencyKeys keys;
  private final Endings endings;
  private final Unreached unreached = new Unreached(this::adoptAgain);

  Adoption(
      Facilities facilities, BoxList list, BoxNames names, IdempotencyKeys keys, Endings endings) {
    this.facilities = facilities;
    this.list = list;
    this.names = names;
    this.keys = keys;
    this.endings = endings;
  }

  /** Takes over all boxes, but for those that ended too long ago to be remembered. */
  void adoptAll(History history) throws InterruptedException {
    for (Engine.Adopted adopted : facilities.engine().adopt(history)) {
      try {
        adopt(adopted);
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "event=box_not_listed box=" + adopted.box().id(), e);
      }
    }
  }

  private void adopt(Engine.Adopted adopted) {
    var box = TenantBox.adopt(facilities, adopted);
    list.add(box);
    names.adopt(box);
    keys.adopt(box);
    box.listen(() -> endings.end(box, Duration.ZERO, EndedBy.DIED));
    if (box.state() == BoxState.UNREACHABLE) {
      unreached.watch(box);
    }
    LOG.log(Level.INFO, "event=adopted box={0} state={1}", box.id(), box.state().word());
    if (box.order().goesWithCommand() && box.state() != BoxState.UNREACHABLE) {
      endings.removeAfterCommand(box);
    }
  }

  /** Tries again one that could not be reached; whether it answers now. */
  private boolean adoptAgain(TenantBox box) throws InterruptedException {
    Optional<Engine.Adopted> adopted = facilities.engine().adoptAgain(box.box());
    if (adopted.isPresent()) {
      // RACE: it takes the place of the other, so there is no moment at which there is none.
      adopt(adopted.get());
      endings.giveBack(box);
    }
    return adopted.isPresent();
  }

  /** Tries no more. */
  @Override
  public void close() {
    unreached.close();
  }
}
