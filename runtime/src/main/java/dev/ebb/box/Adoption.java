package dev.ebb.box;

import dev.ebb.backend.Backends;
import dev.ebb.backend.Sandbox;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.init.CallOff;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.model.Network;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Adopts a box that another engine had detached: running, paused or dead. */
public final class Adoption {
  private static final Duration RETRY = Duration.ofMillis(1);

  private final Box box;
  private final BoxParts parts;
  private final BoxRecord record;
  private final Deadline deadline;
  private final CallOff callOff;

  private Adoption(Box box, BoxRecord record, Deadline deadline, CallOff callOff) {
    this.box = box;
    this.record = record;
    this.deadline = deadline;
    this.callOff = callOff;
    parts = box.parts();
  }

  /** Reads the execs of a box that another engine made, before init reports on them. */
  public interface Heir {
    void inherit(Box box, List<JournalEntry> entries) throws KernelException, IOException;
  }

  /** One more attempt to adopt a box, unless that is called off. */
  public interface Attempt {
    Optional<Box> adopt(CallOff callOff) throws InterruptedException;
  }

  /**
   * Adopts a box by its record.
   *
   * @param holdings what the ledger lists for it
   * @param patience for its init to answer, or to be seen dead
   * @param callOff called when the box is to be ended instead
   */
  public static Box adopt(
      BoxHost host,
      BoxId id,
      BoxRecord record,
      List<Holding> holdings,
      Heir heir,
      Duration patience,
      CallOff callOff)
      throws KernelException, IOException, InterruptedException {
    requireBackend(host, record);
    Deadline deadline = Deadline.in(patience);
    Journal.Contents contents = host.records().box(id.value()).contents();
    List<JournalEntry> entries = contents.entries();
    Optional<BoxEnd> end = BoxEnd.find(id, entries);
    Enclosure enclosure = host.enclosure(id, holdings);
    Optional<ProcessRef> init =
        end.isPresent() ? Optional.empty() : findInit(enclosure, record.init(), holdings);
    BoxState state = end.isPresent() ? BoxState.GONE : BoxState.LOST;
    if (init.isPresent()) {
      state = enclosure.isFrozen() ? BoxState.PAUSED : BoxState.RUNNING;
    }
    BoxSpec spec = BoxRecord.network(entries).map(record.spec()::withNetwork).orElse(record.spec());
    var box = new Box(BoxParts.of(host, id, enclosure, BoxLifecycle.found(state)), spec);
    takeOver(box, Optional.of(record), holdings);
    box.execSite().neverAgain(contents.highest());
    end.ifPresent(box::foundEnded);
    try {
      new Adoption(box, record, deadline, callOff).run(init, heir, entries);
      return box;
    } catch (KernelException | IOException | InterruptedException | RuntimeException e) {
      // Without its lock: no other thread can want it yet, and the caller may hold the lock of the
      // object that this one replaces.
      box.detachment().letGo();
      throw e;
    }
  }

  private static void requireBackend(BoxHost host, BoxRecord record) throws IOException {
    Optional<String> unknown =
        record.backend().filter(name -> host.backends().find(name).isEmpty());
    if (unknown.isPresent()) {
      throw new IOException("its backend is unknown: " + unknown.get());
    }
  }

  /**
   * A box that another engine had detached, and that could not be adopted. It is left alone, and
   * can be ended.
   *
   * @param record empty: it cannot be read
   */
  public static Box unreachable(
      BoxHost host, BoxId id, Optional<BoxRecord> record, List<Holding> holdings)
      throws KernelException {
    Enclosure enclosure = host.enclosure(id, holdings);
    BoxParts parts = BoxParts.of(host, id, enclosure, BoxLifecycle.found(BoxState.UNREACHABLE));
    var box = new Box(parts, record.map(BoxRecord::spec).orElseGet(BoxSpec::defaults));
    takeOver(box, record, holdings);
    Optional<ProcessRef> init = findInit(enclosure, record.flatMap(BoxRecord::init), holdings);
    if (init.isPresent()) {
      know(parts, init.get());
    }
    return box;
  }

  /** Without cgroups nothing else identifies its processes. */
  private static void know(BoxParts parts, ProcessRef init) throws KernelException {
    try {
      parts.enclosure().known(parts.init().open(parts.scope(), init));
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH)) {
        throw e;
      }
    }
  }

  /**
   * Tries again to adopt a box that could not be reached. After a success {@code unreachable} must
   * not be used.
   *
   * @return empty when it fails again, or its end has begun
   */
  public static Optional<Box> again(Box unreachable, Attempt attempt) throws InterruptedException {
    BoxParts parts = unreachable.parts();
    OrderedLock lock = parts.releasing();
    lock.lock();
    try {
      if (unreachable.state() != BoxState.UNREACHABLE) {
        return Optional.empty();
      }
      Optional<Box> heir = attempt.adopt(unreachable.ending());
      if (heir.isPresent()) {
        // This closes the descriptors of this object only: the box goes on.
        parts.lifecycle().listen(_ -> {});
        parts.lifecycle().become(BoxState.GONE);
        unreachable.detachment().letGo();
      }
      return heir;
    } finally {
      lock.unlock();
    }
  }

  /** Finds init by its recorded pid and start time, or else by its cgroup. */
  private static Optional<ProcessRef> findInit(
      Enclosure enclosure, Optional<ProcessRef> recorded, List<Holding> holdings)
      throws KernelException {
    Optional<ProcessRef> found = recorded.filter(ProcessRef::isAlive);
    if (found.isEmpty()) {
      found = enclosure.findInit();
    }
    return found.isPresent()
        ? found
        : holdings.stream()
            .filter(holding -> holding.kind() == Kind.PROCESS)
            .map(holding -> ProcessRef.parse(holding.subject()))
            .filter(ProcessRef::isAlive)
            .findFirst();
  }

  // --- what it holds ---

  private static void takeOver(Box box, Optional<BoxRecord> record, List<Holding> listed)
      throws KernelException {
    BoxParts parts = box.parts();
    knowBackend(parts, record.flatMap(BoxRecord::backend));
    for (Holding line : listed) {
      switch (line.kind()) {
        case DIRECTORY -> parts.directory().takeOver(line);
        case RECORD -> {
          parts.directory().takeOverRecord(line);
          box.detachment().found();
        }
        default -> parts.holdings().takeOver(line);
      }
    }
    takeSharedUid(parts, record);
    parts.lane().takeOver(listed);
    box.execSite()
        .neverAgain(
            Math.max(parts.directory().logs().lastExec(), parts.enclosure().leaves().last()));
    parts.enclosure().leaves().find();
  }

  /** An unknown backend is refused later, by {@link #requireBackend}. */
  private static void knowBackend(BoxParts parts, Optional<String> recorded) {
    Backends backends = parts.host().backends();
    recorded
        .flatMap(backends::find)
        .ifPresentOrElse(
            parts.backend()::madeBy, () -> parts.backend().assume(backends.fallback()));
  }

  private static void takeSharedUid(BoxParts parts, Optional<BoxRecord> record) {
    BoxHoldings holdings = parts.holdings();
    if (holdings.hasUid()
        || !holdings.isUidShared()
        || parts.lifecycle().state() == BoxState.GONE) {
      return;
    }
    if (record.isPresent()) {
      holdings.shareUid(record.get().uid());
    } else {
      holdings.lendUid();
    }
  }

  // --- its init ---

  private void run(Optional<ProcessRef> init, Heir heir, List<JournalEntry> entries)
      throws KernelException, IOException, InterruptedException {
    boolean hears = init.isPresent() && isReached(init.get());
    Step.INHERIT_EXECS.reach();
    heir.inherit(box, entries);
    if (hears) {
      greet(init.get());
      resumeEgress(entries);
    }
    if (callOff.isCalled()) {
      throw new KernelException("adopt box " + box.id() + ", which is being ended", Errno.EBUSY);
    }
  }

  /** False when no process listens: its init is dying, and it is lost. */
  private boolean isReached(ProcessRef init) throws KernelException {
    try {
      connect(init);
      return true;
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH) && !e.is(Errno.ECONNREFUSED) && !e.is(Errno.ENOENT)) {
        throw e;
      }
      requireDead(init);
      parts.lifecycle().become(BoxState.LOST);
      return false;
    }
  }

  private void connect(ProcessRef init) throws KernelException {
    try (var brief = new Scope()) {
      Step.OPEN_INIT.reach();
      Pidfd pidfd = parts.init().open(parts.scope(), init);
      parts.init().found(init);
      parts.enclosure().known(pidfd);
      parts.lane().takeBack(init.pid());
      BoxHost host = parts.host();
      parts.oomWatch().open(parts.scope(), host.poller());
      Sandbox up =
          parts
              .backend()
              .backend()
              .reconnect(
                  parts.scope(), parts.directory().open(brief), record.nonce().bytes(), pidfd);
      parts.init().connected(up);
    }
  }

  private void greet(ProcessRef init) throws KernelException, InterruptedException {
    Sandbox up = parts.init().anySandbox().orElseThrow();
    if (!up.greet(deadline, callOff)) {
      requireDead(init);
      parts.lifecycle().become(BoxState.LOST);
    }
    // ORDER: no earlier number is given again, not even one that only init still remembers.
    box.execSite().neverAgain(up.highestKnown());
    parts.init().watch();
  }

  /**
   * Reopens the proxy of a box that had one: init listens permanently, so a connection made while
   * nothing is allowed must be refused, not left waiting.
   */
  private void resumeEgress(List<JournalEntry> entries)
      throws KernelException, InterruptedException {
    Network first = record.spec().network();
    if (box.state().isAlive() && BoxRecord.hadWayOut(first, entries)) {
      parts.network().openAlways(box.spec().network().policy());
    }
  }

  /** Throws for an init that lives and does not answer: it may be late, or of a newer version. */
  private void requireDead(ProcessRef init) throws KernelException {
    deadline.until(
        RETRY,
        () -> !init.isAlive() || callOff.isCalled() || Thread.currentThread().isInterrupted());
    if (init.isAlive()) {
      throw new KernelException("reach the init of box " + box.id() + ", " + init, Errno.EBUSY);
    }
  }
}
