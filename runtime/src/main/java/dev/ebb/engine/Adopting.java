package dev.ebb.engine;

import dev.ebb.box.Adoption;
import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.box.BoxRecord;
import dev.ebb.box.Detachment;
import dev.ebb.engine.Engine.Adopted;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecAdoption;
import dev.ebb.fault.Step;
import dev.ebb.init.CallOff;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Takes over the detached boxes that the last daemon left. A box that does not answer becomes
 * unreachable, keeps no other box waiting, and can be tried again. Thread-safe.
 */
final class Adopting {
  private static final Logger LOG = System.getLogger(Adopting.class.getName());

  /**
   * How long the init of a detached box may take to answer before the engine continues without it.
   */
  private static final Duration FIRST_WORD = Duration.ofSeconds(2);

  /** How long it may take in a retry, which delays nothing else. */
  private static final Duration NEXT_WORD = Duration.ofSeconds(10);

  private final BoxHost host;
  private final KnownBoxes boxes;

  Adopting(BoxHost host, KnownBoxes boxes) {
    this.host = host;
    this.boxes = boxes;
  }

  /** The ledger lines of each box that was detached. */
  Map<String, List<Holding>> detached() {
    var byBox = new LinkedHashMap<String, List<Holding>>();
    for (Holding held : host.instance().ledger().holdings()) {
      byBox.computeIfAbsent(held.box(), _ -> new ArrayList<>()).add(held);
    }
    byBox.values().removeIf(held -> held.stream().noneMatch(each -> each.kind() == Kind.RECORD));
    return byBox;
  }

  /** Takes over the boxes with these ledger lines, all at once. */
  List<Adopted> adopt(Map<String, List<Holding>> byBox) throws InterruptedException {
    return Together.each(
        byBox.entrySet(),
        listed -> {
          var id = new BoxId(listed.getKey());
          return adopt(id, listed.getValue(), FIRST_WORD, new CallOff())
              .or(() -> leaveAlone(id, listed.getValue()))
              .filter(this::isWhole);
        });
  }

  /**
   * Returns false if the last engine died before the box was detached; then its remains are gone.
   */
  private boolean isWhole(Adopted adopted) {
    Box box = adopted.box();
    if (box.state() == BoxState.UNREACHABLE || box.state() == BoxState.GONE) {
      return true;
    }
    try {
      if (Detachment.of(box).isConfirmed()) {
        return true;
      }
      if (box.state() != BoxState.LOST) {
        Detachment.of(box).confirm();
        return true;
      }
    } catch (KernelException | IOException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + box.id() + " ignoring", e);
      return true;
    }
    boolean isGone = boxes.release(box).isClean();
    LOG.log(Level.WARNING, "event=box_unmade box={0} reason=\"never detached\"", box.id());
    return !isGone;
  }

  /** Tries an unreachable box again; empty when it still does not answer, or is being ended. */
  Optional<Adopted> again(Box unreachable) throws InterruptedException {
    var found = new ArrayList<Adopted>();
    BoxId id = unreachable.id();
    Optional<Box> heir =
        Adoption.again(
            unreachable,
            callOff -> {
              adopt(id, linesOf(id), NEXT_WORD, callOff).ifPresent(found::add);
              return found.stream().findFirst().map(Adopted::box);
            });
    if (heir.isPresent()) {
      boxes.remove(unreachable);
    }
    return found.stream().findFirst();
  }

  private List<Holding> linesOf(BoxId id) {
    return host.instance().ledger().holdings().stream()
        .filter(held -> held.box().equals(id.value()))
        .toList();
  }

  private Optional<Adopted> adopt(
      BoxId id, List<Holding> listed, Duration patience, CallOff callOff)
      throws InterruptedException {
    var execs = new ArrayList<Exec>();
    try {
      Step.READ_RECORD.reach();
      BoxRecord record = BoxRecord.read(host.records().box(id.value()));
      Box box =
          Adoption.adopt(
              host,
              id,
              record,
              listed,
              (found, entries) -> execs.addAll(ExecAdoption.adopt(found, entries)),
              patience,
              callOff);
      boxes.add(box);
      return Optional.of(new Adopted(box, Optional.of(record), execs));
    } catch (KernelException | IOException | RuntimeException e) {
      // A box that is tried again was logged before.
      Level level = patience.equals(FIRST_WORD) ? Level.ERROR : Level.DEBUG;
      LOG.log(level, "event=box_not_adopted box=" + id + " left_alone=true", e);
      return Optional.empty();
    }
  }

  /** The box may be late, or of a newer version; it can still be ended by its name. */
  private Optional<Adopted> leaveAlone(BoxId id, List<Holding> listed) {
    try {
      Optional<BoxRecord> record = record(id);
      Box box = Adoption.unreachable(host, id, record, listed);
      boxes.add(box);
      if (Detachment.of(box).isUnwritten() && box.footprint().pids().isEmpty()) {
        // Its engine died before the first line was complete: it never was detached, and is gone.
        return boxes.release(box).isClean()
            ? Optional.empty()
            : Optional.of(new Adopted(box, record, List.of()));
      }
      return Optional.of(new Adopted(box, record, List.of()));
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_not_listed box=" + id, e);
      return Optional.empty();
    }
  }

  private Optional<BoxRecord> record(BoxId id) {
    try {
      return Optional.of(BoxRecord.read(host.records().box(id.value())));
    } catch (IOException | RuntimeException e) {
      // The failed adoption has logged this.
      return Optional.empty();
    }
  }
}
