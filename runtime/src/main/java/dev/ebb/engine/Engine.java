package dev.ebb.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.admission.PressureSettings;
import dev.ebb.backend.Backends;
import dev.ebb.backend.Capability;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.backend.ZygotePolicy;
import dev.ebb.box.Box;
import dev.ebb.box.BoxEnd;
import dev.ebb.box.BoxHost;
import dev.ebb.box.BoxRecord;
import dev.ebb.box.Detachment;
import dev.ebb.box.HostUids;
import dev.ebb.box.Making;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.code.CodeRequest;
import dev.ebb.code.Runner;
import dev.ebb.egress.Egress;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedReadWriteLock;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Fate;
import dev.ebb.model.Holding;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.Interpreter;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import dev.ebb.store.Home;
import dev.ebb.store.LogDirectory;
import dev.ebb.store.RecordStore;
import dev.ebb.supervision.Recovery;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A running Ebb inside this process: one instance of its home, its boxes, and their end.
 *
 * <p>Closing it releases every box. Should the process be killed instead, its boxes die by
 * themselves and the next engine on the same home cleans up. Thread-safe. {@link HomeTools} works
 * on a home without an engine.
 */
public final class Engine implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Engine.class.getName());

  private final Home home;
  private final BoxHost host;
  private final KnownBoxes boxes;
  private final Adopting adopting;
  private final Inspection inspection;
  private final Closing closing;
  private final PastBoxes past;
  private final OwnRuns runs = new OwnRuns(this);

  /** Shared by creates, exclusive for the close: no box is made behind its back. */
  private final OrderedReadWriteLock making = new OrderedReadWriteLock(LockOrder.ENGINE_MAKING);

  @GuardedBy("making")
  private boolean closed;

  Engine(Home home, BoxHost host, Subtree subtree, List<Recovery.Finding> recovered) {
    this.home = home;
    this.host = host;
    boxes = new KnownBoxes(host);
    adopting = new Adopting(host, boxes);
    inspection = new Inspection(home, host, boxes, recovered);
    closing = new Closing(home, host, boxes, subtree);
    past = new PastBoxes(host.records());
  }

  /** Opens the default home: {@code EBB_HOME}, or /var/lib/ebb. */
  public static Engine open() {
    return open(HomeTools.defaultHome());
  }

  /** Opens an engine on {@code path} after releasing what dead ones left there. */
  public static Engine open(Path path) {
    return Opening.open(path, Opening.Role.GUEST);
  }

  /** Opens the default home for a process that is Ebb's own, and may be moved between cgroups. */
  public static Engine openForProcess() {
    return openForProcess(HomeTools.defaultHome());
  }

  /** Opens {@code path} for a process that is Ebb's own, and may be moved between cgroups. */
  public static Engine openForProcess(Path path) {
    return Opening.open(path, Opening.Role.PROCESS);
  }

  /**
   * Opens {@code path} for its daemon, which takes over what the last one left: what was attached
   * is released, what was detached waits for {@link #adopt}.
   */
  public static Engine openForDaemon(Path path) {
    return Opening.open(path, Opening.Role.DAEMON);
  }

  private interface Work<T, X extends Exception> {
    T run() throws X;
  }

  /** Does something that the close waits for, or nothing after the close. */
  private <T, X extends Exception> T whileOpen(Work<T, X> work, T ifClosed) throws X {
    making.readLock().lock();
    try {
      return closed ? ifClosed : work.run();
    } finally {
      making.readLock().unlock();
    }
  }

  // --- detached boxes of the last daemon ---

  /**
   * A box that the last daemon had detached, and its commands, ended ones too.
   *
   * @param record empty if it cannot be read
   */
  public record Adopted(Box box, Optional<BoxRecord> record, List<Exec> execs) {
    public Adopted {
      execs = List.copyOf(execs);
    }

    /** How the box ended, if an earlier daemon saw it. */
    public Optional<BoxEnd> end() {
      return Detachment.of(box).end();
    }
  }

  /** Takes over every detached box of the last daemon, however long ago it ended. */
  public List<Adopted> adopt() throws InterruptedException {
    return adopt(History.ALL);
  }

  /**
   * Takes over the detached boxes of the last daemon; once, before any box is made.
   *
   * @param history an ended box that is not part of it waits for {@link #forgetOutdated}
   * @return those that are there: alive, dead, or unreachable
   */
  public List<Adopted> adopt(History history) throws InterruptedException {
    Map<String, List<Holding>> detached = adopting.detached();
    inspection.takeExpired(detached, history);
    return adopting.adopt(detached);
  }

  /** Removes up to {@code most} of those that {@link #adopt(History)} left for that. */
  public void forgetOutdated(int most) {
    var _ =
        whileOpen(
            () -> {
              inspection.removeExpired(most);
              return true;
            },
            false);
  }

  /** Tries again what could not be reached; empty when it still cannot, or is being ended. */
  public Optional<Adopted> adoptAgain(Box unreachable) throws InterruptedException {
    // RACE: one that is adopted behind the back of the close would be taken for lost, and ended.
    return whileOpen(() -> adopting.again(unreachable), Optional.empty());
  }

  /** Where what the commands of a box wrote is, or was. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public LogDirectory logs(BoxId box) {
    return host.instance().logs(box.value());
  }

  /** The records of boxes that end with their daemon, which alone uses them. */
  public PastBoxes past() {
    return past;
  }

  // --- boxes ---

  /** Makes a box; it lives until it is released, or this engine is closed. */
  public Box create(BoxSpec spec) {
    try (Permit _ = runs.admit(Cost.BOX)) {
      return make(spec);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SandboxException(ErrorCode.INTERRUPTED, "interrupted before a box was made", e);
    }
  }

  /** Makes a box that is admitted already. */
  Box make(BoxSpec spec) {
    return create(newId(), spec, state -> {});
  }

  /** A name for a box to be made. */
  public BoxId newId() {
    try {
      return BoxId.random();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /**
   * Makes a box by a name that no other box of this engine ever had.
   *
   * @param listener hears of each change of its state, in order, and must not wait for anything
   */
  public Box create(BoxId id, BoxSpec spec, Consumer<BoxState> listener) {
    return create(id, spec, false, listener);
  }

  private Box create(BoxId id, BoxSpec spec, boolean wantsCopy, Consumer<BoxState> listener) {
    Optional<Box> made =
        whileOpen(() -> Optional.of(boxes.make(id, spec, wantsCopy, listener)), Optional.empty());
    return made.orElseThrow(
        () -> new SandboxException(ErrorCode.WRONG_STATE, "the engine is closed"));
  }

  /** Refuses a spec that names a backend that this engine does not have. */
  public void requireBackend(BoxSpec spec) {
    Making.requireBackend(host, spec);
  }

  /** Starts a command in a box. */
  public Exec start(Box box, ExecSpec spec) {
    return Exec.start(box, spec);
  }

  /** Ends a box and proves it; what is stuck is tried again until it is gone, or we are closed. */
  public Certificate release(Box box) {
    return boxes.release(box);
  }

  /** Like {@link #release}, but what its commands wrote stays readable until {@link #forget}. */
  public Certificate stop(Box box) {
    return stop(box, Map.of());
  }

  /**
   * Like {@link #stop(Box)}.
   *
   * @param note what the next engine shall hand out with the end of the box
   */
  public Certificate stop(Box box, Map<String, String> note) {
    return box.stop(note);
  }

  /** Removes what a stopped box had left to read; what cannot be removed makes it stuck. */
  public Certificate forget(Box box) {
    return boxes.forget(box);
  }

  /**
   * Lets the object of a stopped box go. What the box left to read stays until {@link
   * #forget(BoxId)}.
   */
  public void retire(Box stopped) {
    boxes.retire(stopped);
  }

  /**
   * Removes what a stopped box had left to read.
   *
   * @return empty for a box that is not there any more
   */
  public Optional<Certificate> forget(BoxId stopped) {
    return boxes.forget(stopped);
  }

  // --- in a box of its own ---

  /**
   * From now on {@link #create(BoxSpec)} and the runs wait, or are refused, when this process or
   * the host runs short of something; at the level alert a sweep gives back what was left. Once.
   */
  public void admit(PressureSettings settings) {
    runs.admit(settings);
  }

  /** Runs one command in a box of its own. */
  public RunResult run(BoxSpec boxSpec, ExecSpec execSpec) throws InterruptedException {
    return runs.run(boxSpec, execSpec);
  }

  /** Writes, compiles and runs code in a box of its own. */
  public CodeAnswer runCode(BoxSpec boxSpec, CodeRequest request) throws InterruptedException {
    return runs.code(boxSpec, request);
  }

  /** Starts an interpreter that keeps its state, in a box of its own. */
  public CodeContext openContext(BoxSpec boxSpec, Runner runner) throws InterruptedException {
    return runs.context(boxSpec, runner);
  }

  // --- boxes made ahead ---

  /** Has ready what makes boxes, so that the first need not wait for it. */
  public void prepare() throws InterruptedException {
    host.backends().prepare();
  }

  /** What makes its boxes. */
  public Backends backends() {
    return host.backends();
  }

  /**
   * Begins to make boxes ahead; to be closed before this engine.
   *
   * @param listener hears what becomes of each box, and must not wait for anything
   */
  public WarmPool openPool(PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    requirePool(policy);
    policy.zygote().ifPresent(this::useZygote);
    return new WarmPool(new PoolMaker(), policy, listener);
  }

  /** A box is handed out only when its init proves that nothing used it. */
  private void requirePool(PoolPolicy policy) {
    SandboxBackend maker = host.backends().fallback();
    if (!policy.isOff() && !maker.capabilities().has(Capability.INVENTORY)) {
      throw new SandboxException(
          ErrorCode.UNSUPPORTED,
          "no pool: a box of backend " + maker.name() + " cannot " + Capability.INVENTORY.action());
    }
  }

  private void useZygote(ZygotePolicy zygote) {
    Optional<SandboxBackend> copier = host.backends().copier();
    if (copier.isEmpty()) {
      return;
    }
    try {
      Optional<HostLack> lack = copier.get().copy(zygote);
      lack.ifPresent(
          each ->
              LOG.log(
                  Level.WARNING, "event=zygote_refused reason=\"{0}\", ignoring", each.finding()));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  private final class PoolMaker implements WarmPool.Maker {
    @Override
    public Box make(BoxSpec spec, Optional<Interpreter> interpreter) {
      boolean isPython = interpreter.equals(Optional.of(Interpreter.PYTHON));
      return create(newId(), spec, isPython, state -> {});
    }

    @Override
    public void discard(Box box) {
      if (!release(box).isClean()) {
        // ORDER: it is one of the boxes, and the next audit ends it.
        boxes.leaveToAudit(box);
      }
    }

    @Override
    public boolean isBusy() {
      return boxes.isMaking();
    }
  }

  // --- what there is on the host ---

  /** Compares the host with what this engine holds, and mends; a dry run only reports. */
  public List<Recovery.Finding> audit(boolean dryRun) {
    return whileOpen(() -> inspection.audit(dryRun), List.of());
  }

  /** Releases what dead engines left on this home; a dry run only reports. */
  public List<Recovery.Finding> recoverOthers(boolean dryRun) {
    return whileOpen(() -> inspection.recoverOthers(dryRun), List.of());
  }

  /** What was found of dead instances when this one was opened. */
  public List<Recovery.Finding> recovered() {
    return inspection.recovered();
  }

  /** What this engine may hold on the host now. */
  public List<Holding> holdings() {
    return inspection.holdings();
  }

  /** How many cgroups were busy when they should have been empty; 0 in a healthy system. */
  public long leaks() {
    return inspection.leaks();
  }

  /** How often a process from outside was found in the cgroup of a box or command, and killed. */
  public long strangers() {
    return inspection.strangers();
  }

  /** The host uids that its boxes are lent. */
  public HostUids uids() {
    return host.uids();
  }

  /** The proxy of its boxes. */
  public Egress egress() {
    return host.egress();
  }

  /** The records of its boxes and of its home, for the daemon. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public RecordStore records() {
    return host.records();
  }

  public Hierarchies hierarchies() {
    return host.hierarchies();
  }

  public Path home() {
    return home.path();
  }

  /** Processes all that its boxes have sent until now; false when that took too long. */
  public boolean hearOut() throws InterruptedException {
    return host.hearOut();
  }

  // --- its end ---

  /**
   * Bounds a close that must not last: a process that is killed and not gone by {@code last} counts
   * as stuck, and is left for the next engine. Also ends the waits of releases and sweeps that have
   * begun.
   */
  public void waitNoLongerThan(Deadline last) {
    host.patience().endAt(last);
  }

  /** Releases every box and gives the instance back; a box that is stuck keeps it on the ledger. */
  @Override
  public void close() {
    runs.close();
    making.writeLock().lock();
    try {
      if (!closed) {
        closed = true;
        closing.run();
      }
    } finally {
      making.writeLock().unlock();
    }
  }
}
