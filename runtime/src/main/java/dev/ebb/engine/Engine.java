package dev.ebb.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.admission.PressureSettings;
import dev.ebb.backend.Backends;
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
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import dev.ebb.store.Home;
import dev.ebb.store.LogDirectory;
import dev.ebb.store.RecordStore;
import dev.ebb.supervision.Recovery;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * An engine in this process: one instance of a home, and its boxes.
 *
 * <p>Closing it releases every box. If the process is killed instead, its boxes die by themselves
 * and the next engine on the same home cleans up. Thread-safe. {@link HomeTools} works on a home
 * without an engine.
 */
public final class Engine implements AutoCloseable {
  private final Home home;
  private final BoxHost host;
  private final KnownBoxes boxes;
  private final Adopting adopting;
  private final Inspection inspection;
  private final Closing closing;
  private final PastBoxes past;
  private final PastReleases releases;
  private final OwnRuns runs = new OwnRuns(this);

  /** Shared by creates, exclusive for the close: no box is made during the close. */
  private final OrderedReadWriteLock making = new OrderedReadWriteLock(LockOrder.ENGINE_MAKING);

  @GuardedBy("making")
  private boolean closed;

  Engine(
      Home home,
      BoxHost host,
      Subtree subtree,
      List<Recovery.Finding> recovered,
      PastReleases releases) {
    this.home = home;
    this.host = host;
    boxes = new KnownBoxes(host);
    adopting = new Adopting(host, boxes);
    inspection = new Inspection(home, host, boxes, recovered);
    closing = new Closing(home, host, boxes, subtree);
    past = new PastBoxes(host.records());
    this.releases = releases;
  }

  /** Opens the default home: {@code EBB_HOME}, or /var/lib/ebb. */
  public static Engine open() {
    return open(HomeTools.defaultHome());
  }

  /** Opens an engine on {@code path} after releasing what dead engines left there. */
  public static Engine open(Path path) {
    return Opening.open(path, Opening.Role.GUEST);
  }

  /** Opens the default home for a dedicated process, which may be moved between cgroups. */
  public static Engine openForProcess() {
    return openForProcess(HomeTools.defaultHome());
  }

  /** Opens {@code path} for a dedicated process, which may be moved between cgroups. */
  public static Engine openForProcess(Path path) {
    return Opening.open(path, Opening.Role.PROCESS);
  }

  /**
   * Opens {@code path} for its daemon, which takes over the instance of the last daemon: attached
   * boxes are released, detached boxes wait for {@link #adopt}.
   */
  public static Engine openForDaemon(Path path) {
    return Opening.open(path, Opening.Role.DAEMON);
  }

  private interface Work<T, X extends Exception> {
    T run() throws X;
  }

  /** Runs work that the close waits for; returns {@code ifClosed} after the close. */
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
   * A box that the last daemon had detached, and its commands, including ended ones.
   *
   * @param record empty if it cannot be read
   */
  public record Adopted(Box box, Optional<BoxRecord> record, List<Exec> execs) {
    public Adopted {
      execs = List.copyOf(execs);
    }

    /** Returns how the box ended, if an earlier daemon saw that. */
    public Optional<BoxEnd> end() {
      return Detachment.of(box).end();
    }
  }

  /** Adopts every detached box of the last daemon, however long ago it ended. */
  public List<Adopted> adopt() throws InterruptedException {
    return adopt(History.ALL);
  }

  /**
   * Adopts the detached boxes of the last daemon; call once, before any box is made.
   *
   * @param history an ended box that is not part of it waits for {@link #forgetOutdated}
   * @return the boxes that exist: alive, dead, or unreachable
   */
  public List<Adopted> adopt(History history) throws InterruptedException {
    Map<String, List<Holding>> detached = adopting.detached();
    inspection.takeExpired(detached, history);
    return adopting.adopt(detached);
  }

  /** Removes up to {@code most} of the boxes that {@link #adopt(History)} left out. */
  public void forgetOutdated(int most) {
    var _ =
        whileOpen(
            () -> {
              inspection.removeExpired(most);
              return true;
            },
            false);
  }

  /** Tries an unreachable box again; empty if it still does not answer, or is being ended. */
  public Optional<Adopted> adoptAgain(Box unreachable) throws InterruptedException {
    // RACE: a box that is adopted during the close would be taken for lost, and ended.
    return whileOpen(() -> adopting.again(unreachable), Optional.empty());
  }

  /** Returns the directory of the output of a box, which may be gone. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public LogDirectory logs(BoxId box) {
    return host.instance().logs(box.value());
  }

  /** Returns the records of boxes that end with their daemon; only the daemon uses them. */
  public PastBoxes past() {
    return past;
  }

  /** Returns the records of releases; only the daemon uses them. */
  public PastReleases releases() {
    return releases;
  }

  // --- boxes ---

  /** Makes a box, which lives until it is released or this engine is closed. */
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

  /** Returns an id for a box to be made. */
  public BoxId newId() {
    try {
      return BoxId.random();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /**
   * Makes a box with an id that no other box of this engine ever had.
   *
   * @param listener called for each change of state, in order; must not block
   */
  public Box create(BoxId id, BoxSpec spec, Consumer<BoxState> listener) {
    return create(id, spec, false, listener);
  }

  Box create(BoxId id, BoxSpec spec, boolean wantsCopy, Consumer<BoxState> listener) {
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

  /** Ends a box and proves it; retries a stuck box until it is gone or this engine is closed. */
  public Certificate release(Box box) {
    return boxes.release(box);
  }

  /** Like {@link #release}, but the output of its commands stays readable until {@link #forget}. */
  public Certificate stop(Box box) {
    return stop(box, Map.of());
  }

  /**
   * Like {@link #stop(Box)}.
   *
   * @param note text that the next engine returns with the end of the box
   */
  public Certificate stop(Box box, Map<String, String> note) {
    return box.stop(note);
  }

  /** Removes the output of a stopped box; if that fails, the box is stuck. */
  public Certificate forget(Box box) {
    return boxes.forget(box);
  }

  /** Drops the object of a stopped box. Its output stays until {@link #forget(BoxId)}. */
  public void retire(Box stopped) {
    boxes.retire(stopped);
  }

  /**
   * Removes the output of a stopped box.
   *
   * @return empty if the box no longer exists
   */
  public Optional<Certificate> forget(BoxId stopped) {
    return boxes.forget(stopped);
  }

  // --- in a box of its own ---

  /**
   * From now on {@link #create(BoxSpec)} and the runs wait or are refused when this process or the
   * host is short of a resource; at the level alert a sweep releases leftovers. Call once.
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

  /** Prepares the backends, so that the first box need not wait for them. */
  public void prepare() throws InterruptedException {
    host.backends().prepare();
  }

  /** Returns its backends. */
  public Backends backends() {
    return host.backends();
  }

  /**
   * Begins to make boxes in advance; close the pool before this engine.
   *
   * @param listener called with the fate of each box; must not block
   */
  public WarmPool openPool(PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    return new PoolMaker(this, host, boxes).open(policy, listener);
  }

  // --- what there is on the host ---

  /** Compares the host with what this engine holds, and repairs; a dry run only reports. */
  public List<Recovery.Finding> audit(boolean dryRun) {
    return whileOpen(() -> inspection.audit(dryRun), List.of());
  }

  /** Releases what dead engines left on this home; a dry run only reports. */
  public List<Recovery.Finding> recoverOthers(boolean dryRun) {
    return whileOpen(() -> inspection.recoverOthers(dryRun), List.of());
  }

  /** Returns what was found of dead instances when this engine was opened. */
  public List<Recovery.Finding> recovered() {
    return inspection.recovered();
  }

  /** Returns what this engine may hold on the host now. */
  public List<Holding> holdings() {
    return inspection.holdings();
  }

  /** Returns how many cgroups were busy when they should have been empty; 0 in a healthy system. */
  public long leaks() {
    return inspection.leaks();
  }

  /**
   * Returns how often a process from outside was found in the cgroup of a box or command, and
   * killed.
   */
  public long strangers() {
    return inspection.strangers();
  }

  /** Returns the host uids that are lent to its boxes. */
  public HostUids uids() {
    return host.uids();
  }

  /** Returns the proxy of its boxes. */
  public Egress egress() {
    return host.egress();
  }

  /** Returns the records of its boxes and of its home, for the daemon. */
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

  /** Processes everything that its boxes have sent until now; returns false on a timeout. */
  public boolean catchUp() throws InterruptedException {
    return host.catchUp();
  }

  // --- its end ---

  /**
   * Bounds a close: a killed process that still exists at {@code last} counts as stuck and is left
   * to the next engine. Also ends the waits of releases and sweeps that have begun.
   */
  public void waitNoLongerThan(Deadline last) {
    host.patience().endAt(last);
  }

  /** Releases every box and the instance; a stuck box keeps the instance on the ledger. */
  @Override
  public void close() {
    try {
      runs.close();
    } finally {
      releaseAll();
    }
  }

  private void releaseAll() {
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
