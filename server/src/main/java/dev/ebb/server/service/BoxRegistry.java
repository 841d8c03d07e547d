package dev.ebb.server.service;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Permit;
import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.BoxState;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Fate;
import dev.ebb.model.Holding;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * The boxes of all tenants, as doors use them. Owns the engine's boxes from their order until they
 * are forgotten. Its parts make them ({@link BoxCreation}), start commands in them ({@link
 * CommandStarts}), end them ({@link Endings}, {@link Housekeeper}) and adopt those of the previous
 * daemon ({@link Adoption}). Thread-safe.
 */
public final class BoxRegistry implements AutoCloseable {
  /** How many ended boxes are remembered, and for how long. */
  static final History HISTORY = new History(100, Duration.ofDays(1));

  /** How long a daemon that stops waits for processes it kills, including the grace of commands. */
  private static final Duration DRAIN_BOUND = Duration.ofSeconds(8);

  private final Engine engine;
  private final Part part;
  private final TenantMemory memory = TenantMemory.ofHeap();
  private final Events events = new Events(Instant.now());
  private final BoxList list = new BoxList();
  private final BoxNames names = new BoxNames();
  private final Certificates certificates;
  private final Releases releases;
  private final Records records;
  private final TenantUse use;
  private final WarmPool pool;
  private final BoxCreation creation;
  private final CommandStarts starts;
  private final Endings endings;
  private final Adoption adoption;
  private final Housekeeper housekeeper;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  /** The result of an order: a new box, or the one that the same order made before. */
  public record Created(TenantBox box, boolean isNew) {}

  /**
   * An order that may be repeated: the same {@code key} with the same {@code digest} of the body.
   */
  public record Idempotency(String key, String digest) {}

  /** Writes the first files of a box before its creation is answered. */
  public interface Filling {
    void fill(TenantBox box) throws IOException, InterruptedException;
  }

  /**
   * The answer to a removal.
   *
   * @param certificate empty if the removal has only begun
   */
  public record Removal(String id, Optional<Certificate> certificate) {
    public boolean isDone() {
      return certificate.filter(Certificate::isClean).isPresent();
    }
  }

  /** Adopts the boxes that the previous daemon had detached. */
  public BoxRegistry(
      Engine engine, Metrics metrics, AdmissionControl admission, Quotas quotas, PoolPolicy policy)
      throws InterruptedException {
    this(engine, HISTORY, metrics, admission, quotas, policy);
  }

  BoxRegistry(
      Engine engine,
      History history,
      Metrics metrics,
      AdmissionControl admission,
      Quotas quotas,
      PoolPolicy policy)
      throws InterruptedException {
    this(engine, history, metrics, admission, quotas, policy, Part.WHOLE);
  }

  /**
   * Makes a registry beside that of the daemon, for a rehearsal: its boxes have a list, events,
   * metrics and a pool of their own, and no history.
   */
  public static BoxRegistry forRehearsal(
      Engine engine, Metrics metrics, AdmissionControl admission, Quotas quotas, PoolPolicy policy)
      throws InterruptedException {
    return new BoxRegistry(engine, HISTORY, metrics, admission, quotas, policy, Part.REHEARSAL);
  }

  /** Whether it has the boxes of tenants, or those of a rehearsal beside it. */
  private enum Part {
    WHOLE,
    REHEARSAL
  }

  private BoxRegistry(
      Engine engine,
      History history,
      Metrics metrics,
      AdmissionControl admission,
      Quotas quotas,
      PoolPolicy policy,
      Part part)
      throws InterruptedException {
    this.engine = engine;
    this.part = part;
    var facilities = new Facilities(engine, events, metrics, memory, part == Part.REHEARSAL);
    records = new Records(facilities, list, part == Part.WHOLE);
    var keys = new IdempotencyKeys(id -> list.find(id, records::view));
    use = new TenantUse(engine, quotas, list);
    starts = new CommandStarts(admission, use);
    certificates = new Certificates(engine.releases());
    certificates.open();
    var backlog = new ReleaseBacklog(admission, engine.uids());
    endings = new Endings(list, names, keys, certificates, backlog, records);
    releases = new Releases(engine, certificates, this);
    adoption = new Adoption(facilities, list, names, keys, endings, records);
    housekeeper = new Housekeeper(engine, history, list, endings);
    memory.whenShort(this::forgetEnded);
    if (part == Part.WHOLE) {
      adoption.adoptAll(history);
      followEgress();
    }
    pool = engine.openPool(policy, this::poisoned);
    creation = new BoxCreation(facilities, pool, admission, use, names, keys, endings, backlog);
    new BoxMetrics(facilities, list, endings).measure();
    new PoolMetrics(pool).measure(metrics);
    housekeeper.start();
  }

  private void followEgress() {
    engine
        .egress()
        .listen(decision -> list.find(decision.box()).ifPresent(box -> box.publish(decision)));
    // A box without a tenant counts as its own owner.
    engine.egress().share(id -> list.find(id).map(TenantBox::tenant).orElse(id));
  }

  /** Forgets ended commands when memory is short. */
  private void forgetEnded(String tenant) {
    list.all().filter(box -> box.tenant().equals(tenant)).forEach(TenantBox::forgetEnded);
    list.forgetExecs(tenant);
  }

  private void poisoned(Box box, Fate fate) {
    var data = new LinkedHashMap<String, Object>();
    data.put("box", box.id().value());
    data.put("reason", fate.wireName());
    events.publish(Sweeper.NO_TENANT, "pool", data);
  }

  public Events events() {
    return events;
  }

  public WarmPool pool() {
    return pool;
  }

  /** Returns the memory that is kept on behalf of tenants. */
  public TenantMemory memory() {
    return memory;
  }

  /** Bounds the size of files that are written to a box or read from one. */
  public void capFiles(ByteSize most) {
    list.capFiles(most);
  }

  public boolean isDraining() {
    return creation.isDraining();
  }

  // --- making ---

  /** Makes an empty box, unless this order has made one before. */
  public Created create(Caller caller, BoxOrder order, Optional<Idempotency> idempotency)
      throws IOException, InterruptedException {
    return create(caller, order, idempotency, box -> {}, () -> false);
  }

  /**
   * Makes a box and writes its files when there is room, unless this order has made one before.
   *
   * @param hasLeft whether the caller has disconnected meanwhile
   */
  public Created create(
      Caller caller,
      BoxOrder order,
      Optional<Idempotency> idempotency,
      Filling filling,
      BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    return creation.create(caller, order, idempotency, filling, hasLeft);
  }

  /** Returns a permit for a command in a box of its own, held until both exist. */
  public Permit admitRun(Caller caller, BooleanSupplier hasLeft) throws InterruptedException {
    return creation.admitRun(caller, hasLeft);
  }

  /**
   * Makes a box and writes its files, for an admitted caller.
   *
   * @param planned the command that runs in it first, which may wait in a pooled box already
   */
  public TenantBox createAdmitted(
      Caller caller, BoxOrder order, Filling filling, PlannedStart planned)
      throws IOException, InterruptedException {
    return creation.createAdmitted(caller, order, filling, planned);
  }

  // --- finding ---

  /** Finds a box by id or by name; a box of another tenant counts as absent. */
  public TenantBox find(Caller caller, String word) {
    return listed(caller, word).orElseThrow(() -> unknown(caller, word));
  }

  /** Finds a box by id or name, if it was not removed. */
  public Optional<TenantBox> listed(Caller caller, String word) {
    String tenant = caller.tenant();
    return list.find(word, records::view)
        .or(() -> names.find(tenant, word).flatMap(id -> list.find(id, records::view)))
        .or(() -> list.findEndedByName(tenant, word).map(records::view))
        .filter(each -> caller.mayTouch(each.tenant()));
  }

  private SandboxException unknown(Caller caller, String word) {
    String removal =
        certificates
            .find(caller, word, Instant.now())
            .map(box -> ": it was removed at " + box.at())
            .orElse("");
    return new SandboxException(ErrorCode.NOT_FOUND, "no box \"" + word + "\"" + removal);
  }

  /** Returns the boxes that the caller may see, the oldest first. */
  public List<TenantBox> list(Caller caller) {
    return list.all(records::view).filter(box -> caller.mayTouch(box.tenant())).toList();
  }

  /** Returns the lines of a box on the ledger. */
  public List<Holding> holdings(TenantBox box) {
    return engine.holdings().stream().filter(holding -> holding.box().equals(box.id())).toList();
  }

  /** Returns what a tenant uses now, as its quota counts it: boxes by their limits. */
  public Map<Quota.Kind, Double> use(String tenant) {
    return use.of(tenant);
  }

  // --- commands ---

  /** Starts a command when there is room; the caller awaits its end. */
  public TenantExec start(TenantBox box, ExecSpec spec, BooleanSupplier hasLeft)
      throws InterruptedException {
    return start(box, spec, Optional.empty(), hasLeft);
  }

  /**
   * Starts a command when there is room; the caller awaits its end.
   *
   * @param input its complete input, for {@link TenantExec#feed}
   */
  public TenantExec start(
      TenantBox box, ExecSpec spec, Optional<byte[]> input, BooleanSupplier hasLeft)
      throws InterruptedException {
    return starts.start(box, spec, input, hasLeft);
  }

  /** Starts a command that was admitted with its box. */
  public TenantExec startAdmitted(TenantBox box, ExecSpec spec) throws InterruptedException {
    return starts.startAdmitted(box, spec, Optional.empty());
  }

  /** Throws the reason if a command could not begin. */
  public void requireBegun(TenantExec exec) {
    starts.requireBegun(exec);
  }

  /** Returns the failure of a command that could not be started, if the host caused it. */
  public SandboxException explain(SandboxException failure, TenantExec exec) {
    return starts.explain(failure, exec);
  }

  /** Starts an interpreter that takes cells. */
  public TenantContext createContext(
      TenantBox box, TenantContext.Order order, BooleanSupplier hasLeft)
      throws InterruptedException {
    return box.newContext(order, () -> starts.startInterpreter(box, order, hasLeft));
  }

  /** Restarts the interpreter of a context. */
  public void restart(TenantContext context, BooleanSupplier hasLeft) throws InterruptedException {
    context.restart(() -> starts.startInterpreter(context.box(), context.order(), hasLeft));
  }

  /** Restarts the interpreter of a context if it has ended; returns whether it had. */
  public boolean revive(TenantContext context, BooleanSupplier hasLeft)
      throws InterruptedException {
    return context.revive(() -> starts.startInterpreter(context.box(), context.order(), hasLeft));
  }

  /** Works with the files of a box, which briefly takes a process in it. */
  public void useFiles(TenantBox box, TenantBox.Work work, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    starts.useFiles(box, work, hasLeft);
  }

  // --- ending ---

  /**
   * Ends a box and forgets it. A repeated call returns the same certificate, as long as the box is
   * remembered.
   *
   * @param word its id or name
   * @param force false: only an ended box is forgotten
   * @param wait whether to return only when the box is gone or stuck
   */
  public Removal remove(Caller caller, String word, boolean force, boolean wait)
      throws InterruptedException {
    Optional<TenantBox> box = listed(caller, word);
    if (box.isPresent()) {
      return endings.remove(box.get(), force, wait);
    }
    // ORDER: the certificate of a box is known before the box leaves the list.
    return certificates
        .find(caller, word, Instant.now())
        .map(before -> new Removal(before.box(), before.certificate()))
        .orElseThrow(() -> unknown(caller, word));
  }

  /**
   * Ends a box and forgets it; one that does not end stays.
   *
   * @param force false: only an ended box is forgotten
   */
  public Certificate remove(TenantBox box, boolean force) throws InterruptedException {
    return endings.remove(box, force);
  }

  /** Removes a box without a waiting caller; a box that does not end becomes stuck. */
  public void removeAsync(TenantBox box) {
    endings.removeAsync(box);
  }

  /**
   * Has the box of a run removed after its answer, if few others are. Its name is free at once.
   *
   * @return to be called when the answer was sent; the removal does not wait long for that. Empty:
   *     the answer has to wait for the removal
   */
  Optional<Runnable> removeAnswered(TenantBox box) {
    return endings.removeAnswered(box);
  }

  /** Returns the releases of boxes. */
  public Releases releases() {
    return releases;
  }

  /** Removes a box when its first command has ended; at once when there is none. */
  public void removeAfterCommand(TenantBox box) {
    endings.removeAfterCommand(box);
  }

  /** Ends a box: commands by the ladder, then the box. Its record stays. */
  public Certificate stop(TenantBox box, Duration grace) throws InterruptedException {
    return endings.stop(box, grace);
  }

  /** Begins to end a box: commands by the ladder, then the box. */
  public void beginStop(TenantBox box, Duration grace) {
    endings.stopAsync(box, grace);
  }

  /** Returns whether no box exists or is being made. */
  public boolean isIdle() {
    return pool.isSteady() && list.all().allMatch(box -> box.state() == BoxState.GONE);
  }

  /** Ends idle boxes that allow it, the longest idle first. */
  public int endIdle(BooleanSupplier enough) {
    return housekeeper.endIdle(enough);
  }

  /** Forgets boxes that are gone, the oldest first. */
  public int forgetGone(BooleanSupplier enough) {
    return housekeeper.forgetGone(enough);
  }

  /**
   * Refuses further orders and ends all attached boxes concurrently. A box that does not end within
   * the bound stays on the ledger, for the next daemon.
   */
  @Override
  public void close() {
    if (isClosed.getAndSet(true)) {
      return;
    }
    creation.drain();
    if (part == Part.WHOLE) {
      engine.waitNoLongerThan(Deadline.in(DRAIN_BOUND));
    }
    housekeeper.close();
    adoption.close();
    pool.close();
    endings.drain();
  }
}
