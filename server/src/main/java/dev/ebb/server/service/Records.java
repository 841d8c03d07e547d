package dev.ebb.server.service;

import dev.ebb.box.PastBox;
import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.engine.PastBoxes;
import dev.ebb.model.BoxId;
import dev.ebb.model.Certificate;
import dev.ebb.server.service.access.TenantMemory;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Turns ended boxes into records, on the list and in the history on disk. A detached box has its
 * own record on disk, written by its engine. Thread-safe.
 */
final class Records {
  private final Facilities facilities;
  private final BoxList list;
  private final PastBoxes past;
  private final boolean writes;

  /**
   * Makes the records of a list.
   *
   * @param writes whether they outlive the daemon
   */
  Records(Facilities facilities, BoxList list, boolean writes) {
    this.facilities = facilities;
    this.list = list;
    this.writes = writes;
    past = facilities.engine().past();
  }

  /** Makes the view that requests have of a record. */
  TenantBox view(EndedBox record) {
    return TenantBox.of(facilities, record);
  }

  // --- those of earlier daemons ---

  /** Restores the boxes that ended with or under earlier daemons and belong to the history. */
  List<EndedBox> open(History history) {
    // With the precision of records, so the next daemon reads the end that this one lists.
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    Engine engine = facilities.engine();
    Map<Integer, PastBox> found = past.open();
    var boxes = new ArrayList<EndedBox>();
    found.forEach((number, box) -> boxes.add(EndedBox.of(number, box, now, engine)));
    for (EndedBox old : history.expired(boxes, EndedBox::endedAt, now)) {
      boxes.remove(old);
      past.forget(old.number());
    }
    for (EndedBox box : boxes) {
      if (isWithoutEnd(found.get(box.number()))) {
        // The time of its end must not change with every daemon.
        past.end(box.number(), box.past());
      }
    }
    return boxes;
  }

  private static boolean isWithoutEnd(@Nullable PastBox box) {
    return box != null && box.end().isEmpty();
  }

  /** Lists one box; claims its memory as far as there is room. */
  void adopt(EndedBox box) {
    String tenant = box.note().tenant();
    TenantMemory.Claim room = facilities.memory().claim(tenant);
    room.tryAdd(box.note().order().weight());
    TenantMemory.Claim execRoom = facilities.memory().claim(tenant);
    box.execs().forEach(exec -> execRoom.tryAdd(TenantExec.weight(exec.spec())));
    list.add(new BoxList.Ended(box, room, List.of(execRoom)));
  }

  // --- those of this daemon ---

  /** Records a box that ends with this daemon. */
  void begin(TenantBox box) {
    if (writes && !box.order().detached()) {
      int number = past.begin(made(box));
      if (!box.number().begin(number)) {
        // RACE: it has ended meanwhile, or was removed.
        past.forget(number);
      }
    }
  }

  private static PastBox made(TenantBox box) {
    BoxNote note = box.note();
    return new PastBox(
        new BoxId(box.id()), note.order().spec(), note.fields(), Optional.empty(), List.of());
  }

  /**
   * Replaces a box that has ended with all its commands by its record, unless a thread is removing
   * it.
   */
  void retire(TenantBox box) {
    if (box.ending().isBeingRemoved() || !box.ending().beginRetirement()) {
      return;
    }
    var ended = box.record();
    if (ended.isEmpty()) {
      box.ending().cancelRetirement();
      return;
    }
    EndedBox record = ended.get().box();
    int number =
        writes && !box.order().detached()
            ? past.end(box.number().take(), record.past())
            : PastBoxes.NONE;
    if (!list.retire(box, ended.get().with(record.withNumber(number)))) {
      // RACE: it was removed meanwhile.
      past.forget(number);
      ended.get().giveBack();
    } else {
      facilities.engine().retire(box.box());
    }
  }

  /** Notes that the output of a recorded box could not be removed. */
  void stuck(TenantBox box, Certificate certificate) {
    if (box.isPast()) {
      box.ending().prove(certificate);
      list.change(box.id(), record -> record.stuck(certificate, Instant.now()));
    }
  }

  /** Forgets a box, and its record. */
  void remove(TenantBox box) {
    int number = list.remove(box.id()).map(EndedBox::number).orElse(PastBoxes.NONE);
    past.forget(number == PastBoxes.NONE ? box.number().take() : number);
  }
}
