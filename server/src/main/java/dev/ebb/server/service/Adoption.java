package dev.ebb.server.service;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Optional;

/**
 * Adopts the boxes that the previous daemon had detached: at the start, and later those that did
 * not answer then. Thread-safe.
 */
final class Adoption implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Adoption.class.getName());

  private final Facilities facilities;
  private final BoxList list;
  private final BoxNames names;
  private final IdempotencyKeys keys;
  private final Endings endings;
  private final Records records;
  private final Unreached unreached = new Unreached(this::adoptAgain);

  Adoption(
      Facilities facilities,
      BoxList list,
      BoxNames names,
      IdempotencyKeys keys,
      Endings endings,
      Records records) {
    this.records = records;
    this.facilities = facilities;
    this.list = list;
    this.names = names;
    this.keys = keys;
    this.endings = endings;
  }

  /** Adopts all boxes except those that ended too long ago for the history. */
  void adoptAll(History history) throws InterruptedException {
    var found = new ArrayList<Found>();
    for (EndedBox past : records.open(history)) {
      found.add(new Found(past.id(), past.note().createdAt(), () -> records.adopt(past)));
    }
    for (Engine.Adopted adopted : facilities.engine().adopt(history)) {
      found.add(new Found(adopted.box().id(), note(adopted).createdAt(), () -> adopt(adopted)));
    }
    found.sort(Comparator.comparing(Found::createdAt));
    found.forEach(Adoption::list);
  }

  /** A box to be listed, ordered by age. */
  private record Found(BoxId id, Instant createdAt, Runnable adoption) {}

  private static void list(Found found) {
    try {
      found.adoption().run();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_not_listed box=" + found.id(), e);
    }
  }

  private static BoxNote note(Engine.Adopted adopted) {
    BoxSpec spec = adopted.box().spec();
    return adopted
        .record()
        .map(record -> BoxNote.parse(record.note(), spec))
        .orElseGet(() -> BoxNote.unknown(spec));
  }

  private void adopt(Engine.Adopted adopted) {
    Box found = adopted.box();
    var box = new TenantBox(facilities, found.id(), note(adopted), BoxMaking.of(found));
    box.adopt(adopted.end(), adopted.execs());
    list.add(box);
    names.adopt(box);
    keys.adopt(box);
    box.listen(() -> endings.end(box, Duration.ZERO, EndedBy.DIED));
    if (box.state() == BoxState.UNREACHABLE) {
      unreached.watch(box);
    }
    LOG.log(Level.INFO, "event=adopted box={0} state={1}", box.id(), box.state().wireName());
    if (box.order().goesWithCommand() && box.state() != BoxState.UNREACHABLE) {
      endings.removeAfterCommand(box);
    }
  }

  /** Tries an unreachable box again; returns whether it answers now. */
  private boolean adoptAgain(TenantBox box) throws InterruptedException {
    Optional<Engine.Adopted> adopted = facilities.engine().adoptAgain(box.box());
    if (adopted.isPresent()) {
      // RACE: it replaces the other box on the list, so there is always one of the two.
      adopt(adopted.get());
      // Its name and its key go by its id, which is that of the new one.
      box.giveBack();
    }
    return adopted.isPresent();
  }

  /** Ends the retries. */
  @Override
  public void close() {
    unreached.close();
  }
}
