package dev.ebb.pool;

import dev.ebb.backend.ZygotePolicy;
import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.NativeMemory;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Fate;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.PoolState;
import dev.ebb.model.SandboxException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;

/**
 * Boxes that were made in advance. Each is handed out once, checked, and never comes back.
 *
 * <p>Thread-safe. One virtual thread makes and destroys waiting boxes, one at a time.
 */
public final class WarmPool implements AutoCloseable {
  private static final Logger LOG = System.getLogger(WarmPool.class.getName());

  /** How long it makes no box after other work needed the room. */
  private static final Duration WAY = Duration.ofSeconds(30);

  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);

  /** Makes boxes for the pool, and destroys them. */
  public interface Maker {
    /** Makes a box with an interpreter, or a plain one. */
    Box make(BoxSpec spec, Optional<Interpreter> interpreter);

    /** Destroys a box; the maker retries if that fails. */
    void discard(Box box);

    /** Returns whether a caller waits for a box that is being made. */
    boolean isBusy();

    /** Returns what keeps the zygote that python boxes are copies of; empty: there can be none. */
    default Optional<Copier> copier(ZygotePolicy first) {
      return Optional.empty();
    }
  }

  /** Keeps the zygote that python boxes are copies of. */
  public interface Copier {
    /** Has boxes copy this one from now on, and ends the one before. */
    void use(ZygotePolicy zygote);

    /**
     * Starts it, if it does not run or has made enough boxes; a no-op for a while after it failed.
     */
    void prepare() throws InterruptedException;

    /** Returns whether a box could be a copy of it now. */
    boolean isReady();

    /** Returns whether the last start failed. */
    boolean hasFailed();

    /** Ends it; the next box that needs it starts it again. */
    void rest();
  }

  private final Maker maker;
  private final PoolPolicy policy;
  private final BiConsumer<Box, Fate> listener;
  private final BoxSpec spec = BoxSpec.defaults();
  private final Shelves shelves;
  private final Preloads preloads;
  private final Refill refill;
  private final Optional<Copier> copier;
  private final Learner learner;
  private final Thread keeper;

  /** Boxes that left their shelves and are not destroyed yet. */
  private final Queue<PoolItem> doomed = new ConcurrentLinkedQueue<>();

  private final Map<Fate, Long> destroyed = new ConcurrentHashMap<>();
  private final AtomicLong unfit = new AtomicLong();

  private final PoolRoom share;

  /** What the boxes that wait may take at present. */
  private volatile PoolRoom room;

  private volatile boolean closed;
  private boolean wasAsleep; // for the keeper alone

  /**
   * Begins to fill the pool.
   *
   * @param listener is called with each box that was tampered with
   */
  public WarmPool(Maker maker, PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    this.maker = maker;
    this.policy = policy;
    this.listener = listener;
    share = PoolRoom.of(policy);
    room = share;
    shelves = new Shelves(policy);
    copier = policy.zygote(policy.preload()).flatMap(maker::copier);
    boolean learns = policy.learns() && copier.isPresent();
    preloads = new Preloads(policy.preload(), learns, share.preloaded());
    refill = new Refill(maker, preloads, spec, shelves);
    learner = new Learner(preloads, new ModuleTrial(maker), refill, this::preload);
    keeper = Thread.ofVirtual().name("ebb-pool").unstarted(this::keep);
    if (!policy.isOff()) {
      keeper.start();
    }
    if (learns) {
      learner.start();
    }
  }

  private void keep() {
    try {
      while (!closed) {
        keepOnce();
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=pool_ends");
    }
  }

  /** Runs one round; its failure does not end the thread. */
  private void keepOnce() throws InterruptedException {
    try {
      shelves.takeFlawed(policy.age()).forEach(each -> doom(each.item(), each.fate()));
      destroyDoomed();
      keepZygote();
      noteSleep();
      refill.next(room, shelf -> !isWithoutItsZygote(shelf));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=pool_round_failed", e);
      shelves.awaitNews(AFTER_FAILURE.toNanos());
    }
  }

  /** When nothing waits any more, what the boxes took of this process goes back to the host. */
  private void noteSleep() {
    boolean isAsleep = shelves.areAsleep();
    if (isAsleep && !wasAsleep) {
      NativeMemory.trim();
      LOG.log(Level.INFO, "event=pool_asleep");
    }
    wasAsleep = isAsleep;
  }

  // --- the zygote ---

  /** ORDER: a zygote is started before a box of its kind is begun, for which a caller may wait. */
  private void keepZygote() throws InterruptedException {
    if (copier.isEmpty()) {
      return;
    }
    if (!shelves.isAwake(Interpreter.PYTHON)) {
      copier.get().rest();
    } else if (refill.isQuiet()) {
      copier.get().prepare();
    }
  }

  private boolean isWithoutItsZygote(Shelf shelf) {
    return copier.isPresent()
        && shelf.interpreter().equals(Optional.of(Interpreter.PYTHON))
        && !copier.get().isReady()
        && !copier.get().hasFailed();
  }

  /** Has python import these modules before it waits, if a zygote can. */
  private void preload(List<String> modules) throws InterruptedException {
    preloads.announce(modules);
    boolean works = copyOf(modules);
    if (!works) {
      modules.stream()
          .filter(each -> !preloads.imported().contains(each))
          .forEach(each -> preloads.tried(each, Optional.empty()));
      var _ = copyOf(preloads.imported());
    }
    LOG.log(Level.INFO, "event=pool_preloads modules={0} accepted={1}", modules, works);
    shelves.takeAll(Interpreter.PYTHON).forEach(each -> doom(each, Fate.SURPLUS));
    if (works) {
      preloads.use(modules);
    }
  }

  /** Returns whether a zygote that has imported these modules runs. */
  private boolean copyOf(List<String> modules) throws InterruptedException {
    Copier zygotes = copier.orElseThrow();
    zygotes.use(policy.zygote(modules).orElseThrow());
    zygotes.prepare();
    return zygotes.isReady();
  }

  // --- handing out ---

  /** Returns a waiting box that fits, if there is one. */
  public Optional<PoolItem> take(BoxSpec wanted, PlannedStart planned) throws InterruptedException {
    if (!spec.canBecome(wanted)) {
      unfit.incrementAndGet();
      return Optional.empty();
    }
    Optional<Interpreter> called = called(planned);
    called.filter(Interpreter.PYTHON::equals).ifPresent(_ -> preloads.note(planned));
    Optional<PoolItem> warm = called.isEmpty() ? Optional.empty() : takeOf(called, wanted, planned);
    return warm.isPresent() ? warm : takeOf(Optional.empty(), wanted, planned);
  }

  private Optional<Interpreter> called(PlannedStart planned) {
    return planned.command().flatMap(each -> Interpreter.of(each, preloads.wasUsed()));
  }

  private Optional<PoolItem> takeOf(
      Optional<Interpreter> kind, BoxSpec wanted, PlannedStart planned)
      throws InterruptedException {
    Optional<Shelf> shelf = shelves.of(kind);
    return shelf.isEmpty() ? Optional.empty() : takeFrom(shelf.get(), wanted, planned);
  }

  private Optional<PoolItem> takeFrom(Shelf shelf, BoxSpec wanted, PlannedStart planned)
      throws InterruptedException {
    shelves.ask(shelf);
    refill.asked();
    for (PoolItem item = shelves.next(shelf); item != null; item = shelves.next(shelf)) {
      Optional<PoolItem.Flaw> flaw = prepare(item, wanted, planned);
      if (flaw.isEmpty()) {
        shelves.count(shelf, true);
        return Optional.of(item);
      }
      reject(item, flaw.get());
    }
    shelves.count(shelf, false);
    return copied(shelf, wanted, planned);
  }

  /** Copies an interpreter, which takes less time than to wait for one to start. */
  private Optional<PoolItem> copied(Shelf shelf, BoxSpec wanted, PlannedStart planned)
      throws InterruptedException {
    boolean isPython = shelf.interpreter().equals(Optional.of(Interpreter.PYTHON));
    if (!isPython || copier.filter(Copier::isReady).isEmpty() || called(planned).isEmpty()) {
      return Optional.empty();
    }
    try {
      ExecSpec command = planned.command().orElseThrow();
      return Optional.of(refill.copy(Interpreter.PYTHON, wanted, command));
    } catch (KernelException | SandboxException e) {
      LOG.log(Level.WARNING, "event=pool_not_copied", e);
      return Optional.empty();
    }
  }

  private Optional<PoolItem.Flaw> prepare(PoolItem item, BoxSpec wanted, PlannedStart planned)
      throws InterruptedException {
    try {
      if (item.age().compareTo(policy.age()) > 0) {
        return Optional.of(new PoolItem.Flaw(Fate.AGED, Optional.empty()));
      }
      // RACE: since the caller asked, python may have begun to import modules before it waits.
      return item.hasInterpreter() && called(planned).isEmpty()
          ? Optional.of(new PoolItem.Flaw(Fate.SURPLUS, Optional.empty()))
          : item.prepare(wanted, planned);
    } catch (InterruptedException | RuntimeException e) {
      doom(item, Fate.UNFIT);
      throw e;
    }
  }

  private void reject(PoolItem item, PoolItem.Flaw flaw) {
    flaw.cause()
        .ifPresent(
            cause -> LOG.log(Level.WARNING, "event=pool_unfit box=" + item.box().id(), cause));
    doom(item, flaw.fate());
  }

  // --- destroying ---

  /** Destroys a box that was handed out and will not be used. */
  public void refuse(PoolItem item) {
    doom(item, Fate.SURPLUS);
  }

  /** Has a box destroyed in the background, because a caller may be waiting. */
  private void doom(PoolItem item, Fate fate) {
    condemn(item, fate);
    shelves.wake();
    if (fate.isPoisoned()) {
      LOG.log(
          Level.WARNING,
          "event=pool_poisoned box={0} reason={1}",
          item.box().id(),
          fate.wireName());
      listener.accept(item.box(), fate);
    }
  }

  private void condemn(PoolItem item, Fate fate) {
    doomed.add(item);
    destroyed.merge(fate, 1L, Long::sum);
  }

  private void destroyDoomed() {
    for (PoolItem item = doomed.poll(); item != null; item = doomed.poll()) {
      maker.discard(item.box());
    }
  }

  /** Destroys all boxes but this many. */
  private int keepOnly(int keep, Fate fate) {
    List<PoolItem> dropped = shelves.takeBeyond(keep);
    dropped.forEach(item -> condemn(item, fate));
    destroyDoomed();
    return dropped.size();
  }

  /**
   * Bounds the number of waiting boxes from now on, and destroys those beyond; the largest number
   * means no bound.
   *
   * @return how many were destroyed
   */
  public int shrink(int keep) {
    room = share.butAtMost(keep);
    int dropped = keepOnly(room.boxes(), Fate.SURPLUS);
    shelves.wake();
    return dropped;
  }

  /**
   * Destroys all waiting boxes and the zygote, and makes none for a while: other work needs the
   * room.
   */
  public int makeWay() {
    refill.pause(WAY);
    int dropped = keepOnly(0, Fate.SURPLUS);
    copier.ifPresent(Copier::rest);
    return dropped;
  }

  /** Destroys the waiting boxes; hands out and makes none from now on. */
  @Override
  public void close() {
    closed = true;
    shelves.close();
    learner.close();
    keeper.interrupt();
    boolean interrupted = false;
    while (keeper.isAlive()) {
      try {
        keeper.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    keepOnly(0, Fate.CLOSED);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // --- state ---

  public PoolState state() {
    return new PoolState(
        shelves.state(), room.boxes(), unfit.get(), destroyed, room.memory(), preloads.imported());
  }

  /** Returns whether it holds nothing but what it holds from its start on. */
  public boolean isSteady() {
    return policy.adaptation().isEmpty()
        || (!shelves.hasInterpreters() && copier.filter(Copier::isReady).isEmpty());
  }
}
