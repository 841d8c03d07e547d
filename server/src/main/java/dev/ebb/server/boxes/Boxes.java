package dev.ebb.server.boxes;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.Box;
import dev.ebb.box.BoxState;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.egress.Decision;
import dev.ebb.egress.Egress;
import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.exec.ExecSpec;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.StallWatch;
import dev.ebb.ledger.Certificate;
import dev.ebb.ledger.Holding;
import dev.ebb.pool.Beginning;
import dev.ebb.pool.Fate;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import dev.ebb.pressure.Cost;
import dev.ebb.pressure.Permit;
import dev.ebb.server.access.Caller;
import dev.ebb.server.access.Caps;
import dev.ebb.server.access.Quota;
import dev.ebb.server.access.Quotas;
import dev.ebb.server.access.TenantMemory;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.pressure.Entrance;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The boxes of all tenants. Owns the engine's boxes from their order until they are forgotten;
 * enforces time to live and idle timeout. Thread-safe.
 */
public final class Boxes implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Boxes.class.getName());

  /** How many boxes that are gone are remembered, and for how long. */
  private static final History HISTORY = new History(100, Duration.ofDays(1));

  /** How many that are older are removed a round: there may be thousands, and others wait. */
  private static final int OUTDATED_A_ROUND = 100;

  private static final Duration LONG = Duration.ofDays(3650);

  /** How long whoever follows a command may read on when its box is gone. */
  private static final Duration READ_PATIENCE = Duration.ofMinutes(1);

  private static final Duration ROUND = Duration.ofMillis(100);

  /** Its init, and for a moment bwrap, twice, and what starts that; sockets, pidfds, logs. */
  private static final Cost BOX = new Cost(4, 12);

  /** Itself, and without cgroups its shepherd; logs, pipes, cgroup files. */
  private static final Cost COMMAND = new Cost(2, 8);

  private static final Cost FILES = COMMAND;
  private static final Cost RUN = new Cost(5, 18);
  private static final String STOP = "ebb-stop-";
  private static final String REMOVE = "ebb-remove-";
  private static final int FORGOTTEN_A_LOOK = 10;
  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);

  /** How long a daemon that goes down waits for what it kills, the grace of commands included. */
  private static final Duration DRAIN_BOUND = Duration.ofSeconds(8);

  private final Engine engine;
  private final History history;
  private final Metrics metrics;
  private final Entrance entrance;
  private final Quotas quotas;
  private final OrderedLock counting = new OrderedLock(LockOrder.BOX_COUNTS);

  /** Commands that were let in and are not on the list of their box yet, by tenant. */
  @GuardedBy("counting")
  private final Map<String, Integer> starting = new HashMap<>();

  private final Events events = new Events(Instant.now());
  private final TenantMemory memory = TenantMemory.ofHeap();
  private final AtomicLong orders = new AtomicLong();

  /** By the order they came in. */
  private final Map<Long, ServedBox> all = new ConcurrentSkipListMap<>();

  private final Map<String, Long> ids = new ConcurrentHashMap<>();
  private final Map<Key, ServedBox> names = new ConcurrentHashMap<>();
  private final Map<Key, Once> once = new ConcurrentHashMap<>();
  private final WarmPool pool;
  private final Thread housekeeper;

  private final RemovedBoxes removed = new RemovedBoxes();

  /** Threads that stop or remove boxes after the answer, by name. */
  private final Map<String, Thread> aside = new ConcurrentHashMap<>();

  private final Unreached unreached = new Unreached(this::adoptAgain);
  private volatile ByteSize fileSize = Caps.ANY_SIZE;
  private volatile boolean draining;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  private record Key(String tenant, String word) {}

  /**
   * The first use of an idempotency key: for which body, and what came of it.
   *
   * @param done when the box is made and filled
   */
  private record Once(String digest, CompletableFuture<ServedBox> done) {
    boolean isOf(ServedBox box) {
      return done.state() == Future.State.SUCCESS && done.resultNow() == box;
    }
  }

  /** What an order came to: a new box, or the one that the same order made before. */
  public record Created(ServedBox box, boolean isNew) {}

  /** Takes over what the daemon before this one had detached. */
  public Boxes(Engine engine, Metrics metrics, Entrance entrance, Quotas quotas, PoolPolicy policy)
      throws InterruptedException {
    this(engine, HISTORY, metrics, entrance, quotas, policy);
  }

  Boxes(
      Engine engine,
      History history,
      Metrics metrics,
      Entrance entrance,
      Quotas quotas,
      PoolPolicy policy)
      throws InterruptedException {
    this.entrance = entrance;
    this.quotas = quotas;
    this.engine = engine;
    this.history = history;
    this.metrics = metrics;
    memory.whenShort(this::forgetEnded);
    for (Engine.Adopted adopted : engine.adopt(history)) {
      try {
        adopt(adopted);
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "event=box_not_listed box=" + adopted.box().id(), e);
      }
    }
    engine.egress().listen(this::decided);
    engine.egress().share(this::owner);
    pool = engine.openPool(policy, this::poisoned);
    measure();
    housekeeper = Thread.ofVirtual().name("ebb-housekeeper").start(this::keepHouse);
  }

  /** From now on no file that is written to a box, or read from one, is larger. */
  public void capFiles(ByteSize most) {
    fileSize = most;
    all.values().forEach(box -> box.capFiles(most));
  }

  /** What is kept on behalf of tenants, by all who keep something. */
  public TenantMemory memory() {
    return memory;
  }

  /** Of commands that have ended a tenant is told only while there is room. */
  private void forgetEnded(String tenant) {
    all.values().stream()
        .filter(box -> box.tenant().equals(tenant))
        .forEach(ServedBox::forgetEnded);
  }

  private void measure() {
    metrics.gauge(
        "ebb_kept_bytes", "Memory of the daemon that is kept on behalf of tenants.", memory::used);
    metrics.gauge(
        "ebb_boxes", "Boxes that the daemon knows of, by their state.", "state", this::byState);
    metrics.gauge("ebb_execs_running", "Commands that run.", this::running);
    metrics.counter(
        "ebb_leaks_total",
        "Cgroups that were busy when they should have been empty; 0 in a healthy system.",
        engine::leaks);
    metrics.counter(
        "ebb_strangers_killed_total",
        "Boxes and commands in whose cgroup there was a process from outside; 0 in a healthy system.",
        engine::strangers);
    metrics.gauge("ebb_releases_aside", "Boxes that are removed after the answer.", aside::size);
    new PoolMetrics(pool).measure(metrics);
    Egress egress = engine.egress();
    metrics.gauge(
        "ebb_egress_connections", "Connections of boxes to their proxy.", egress::connections);
    metrics.counter(
        "ebb_egress_requests_total",
        "Requests of boxes to their proxy, by what became of them.",
        "outcome",
        this::egressRequests);
    metrics.counter(
        "ebb_egress_bytes_total",
        "Bytes that went through the proxy of boxes.",
        "direction",
        () -> Map.of("sent", (double) egress.sent(), "received", (double) egress.received()));
  }

  private Map<String, Double> egressRequests() {
    var counts = new LinkedHashMap<String, Double>();
    engine.egress().decisions().forEach((each, count) -> counts.put(each.word(), (double) count));
    return counts;
  }

  /** The tenant of a box; a box without a tenant counts as its own owner. */
  private String owner(String id) {
    Long number = ids.get(id);
    ServedBox box = number == null ? null : all.get(number);
    return box == null ? id : box.tenant();
  }

  private void decided(Decision decision) {
    Long number = ids.get(decision.box());
    ServedBox box = number == null ? null : all.get(number);
    if (box != null) {
      box.tell(decision);
    }
  }

  /** Every state is there, so that none is missing on a board. */
  private Map<String, Double> byState() {
    var counts = new LinkedHashMap<String, Double>();
    for (BoxState state : BoxState.values()) {
      counts.put(state.word(), 0.0);
    }
    all.values().forEach(box -> counts.merge(box.state().word(), 1.0, Double::sum));
    return counts;
  }

  private double running() {
    return all.values().stream().mapToLong(ServedBox::running).sum();
  }

  private void adopt(Engine.Adopted adopted) {
    var box = ServedBox.adopt(engine, events, metrics, memory, adopted);
    list(box);
    box.order()
        .name()
        .ifPresent(
            name ->
                names.merge(
                    new Key(box.tenant(), name),
                    box,
                    (other, same) -> other.id().equals(same.id()) ? same : other));
    box.idempotency()
        .ifPresent(
            once ->
                this.once.put(
                    new Key(box.tenant(), once.key()),
                    new Once(once.digest(), CompletableFuture.completedFuture(box))));
    box.listen(() -> end(box, Duration.ZERO, ServedBox.EndedBy.DIED));
    if (box.state() == BoxState.UNREACHABLE) {
      unreached.watch(box);
    }
    LOG.log(Level.INFO, "event=adopted box={0} state={1}", box.id(), box.state().word());
    if (box.order().goesWithCommand() && box.state() != BoxState.UNREACHABLE) {
      removeAfterCommand(box);
    }
  }

  /** Tries again one that could not be reached; whether it answers now. */
  boolean adoptAgain(ServedBox box) throws InterruptedException {
    Optional<Engine.Adopted> adopted = engine.adoptAgain(box.box());
    if (adopted.isPresent()) {
      // RACE: it takes the place of the other, so there is no moment at which there is none.
      adopt(adopted.get());
      box.giveBack();
      forgetWords(box);
    }
    return adopted.isPresent();
  }

  private void list(ServedBox box) {
    long number = ids.computeIfAbsent(box.id(), _ -> orders.incrementAndGet());
    box.capFiles(fileSize);
    all.put(number, box);
  }

  public Events events() {
    return events;
  }

  public boolean isDraining() {
    return draining;
  }

  /**
   * An order that may be repeated: the same {@code key} with the same {@code digest} of the body.
   */
  public record Idempotency(String key, String digest) {}

  /** What a box is to hold before anybody hears of it. */
  public interface Filling {
    void fill(ServedBox box) throws IOException, InterruptedException;
  }

  /** Makes an empty box, unless this very order made one before. */
  public Created create(Caller caller, BoxOrder order, Optional<Idempotency> idempotency)
      throws IOException, InterruptedException {
    return create(caller, order, idempotency, box -> {}, () -> false);
  }

  /** Room for a command in a box of its own; held until both are there. */
  public Permit admitRun(Caller caller, BooleanSupplier hasLeft) throws InterruptedException {
    requireOpen();
    return entrance.admit(caller.tenant(), RUN, hasLeft);
  }

  /**
   * Makes a box and fills it for one who was admitted.
   *
   * @param beginning what is to run in it at once, and may have been waited for
   */
  public ServedBox createAdmitted(
      Caller caller, BoxOrder order, Filling filling, Beginning beginning)
      throws IOException, InterruptedException {
    requireOpen();
    order.name().ifPresent(word -> requireFree(new Key(caller.tenant(), word)));
    var note = new BoxNote(caller.tenant(), order, Instant.now(), Optional.empty());
    return makeAndFill(note, filling, beginning);
  }

  /**
   * Makes a box and fills it when there is room, unless this very order made one before.
   *
   * @param hasLeft whether the caller has gone meanwhile
   */
  public Created create(
      Caller caller,
      BoxOrder order,
      Optional<Idempotency> idempotency,
      Filling filling,
      BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    requireOpen();
    if (idempotency.isPresent()) {
      Once before = once.get(new Key(caller.tenant(), idempotency.get().key()));
      if (before != null) {
        return repeated(before, idempotency.get().digest());
      }
    } else {
      // With a key the name may be that of the very box this order made before.
      order.name().ifPresent(word -> requireFree(new Key(caller.tenant(), word)));
    }
    var note = new BoxNote(caller.tenant(), order, Instant.now(), idempotency);
    return create(caller, note, filling, hasLeft);
  }

  private Created create(Caller caller, BoxNote note, Filling filling, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    var idempotency = note.idempotency();
    if (idempotency.isEmpty()) {
      return new Created(admitAndMake(note, filling, hasLeft), true);
    }
    var key = new Key(caller.tenant(), idempotency.get().key());
    var first = new Once(idempotency.get().digest(), new CompletableFuture<>());
    Once other = once.putIfAbsent(key, first);
    if (other != null) {
      return repeated(other, first.digest());
    }
    try {
      ServedBox box = admitAndMake(note, filling, hasLeft);
      first.done().complete(box);
      return new Created(box, true);
    } catch (IOException | InterruptedException | RuntimeException e) {
      // RACE: the key may be another order's by now.
      once.remove(key, first);
      first.done().completeExceptionally(e);
      throw e;
    }
  }

  private ServedBox admitAndMake(BoxNote note, Filling filling, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    try (Permit _ = entrance.admit(note.tenant(), BOX, hasLeft)) {
      return makeAndFill(note, filling, Beginning.UNKNOWN);
    }
  }

  /** A box that cannot hold what it was ordered with is none. */
  private ServedBox makeAndFill(BoxNote note, Filling filling, Beginning beginning)
      throws IOException, InterruptedException {
    Instant begun = Instant.now();
    // ORDER: admitted by now; one who waits for room keeps no box from others.
    var warm = pool.take(note.order().spec(), beginning);
    var box = new ServedBox(engine, events, metrics, memory, note, warm);
    try {
      makeAndFill(box, filling);
      return box;
    } catch (SandboxException e) {
      throw entrance.explain(e, begun);
    } finally {
      // Of an order that was refused: the box that it would have had.
      box.takeUnused().ifPresent(pool::refuse);
    }
  }

  private void makeAndFill(ServedBox box, Filling filling)
      throws IOException, InterruptedException {
    register(box);
    try {
      filling.fill(box);
      // ORDER: half a box is not to be found by the next daemon.
      box.detachIfOrdered();
    } catch (IOException | InterruptedException e) {
      remove(box, true);
      throw e;
    } catch (RuntimeException e) {
      // RACE: others find a box as soon as it is made. One that was ended by a request since then
      // was made first, and that is the answer.
      if (!box.wasEndedMeanwhile(e)) {
        remove(box, true);
        throw e;
      }
    }
  }

  /** Waits for the first, and fails as it did. */
  private static Created repeated(Once first, String digest) throws InterruptedException {
    if (!first.digest().equals(digest)) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "this idempotency key was used for another request");
    }
    try {
      return new Created(first.done().get(), false);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof SandboxException reason
          ? reason
          : new SandboxException(
              ErrorCode.SETUP_FAILED, "the first request with this idempotency key broke off");
    }
  }

  private void register(ServedBox box) {
    var name = box.order().name().map(word -> new Key(box.tenant(), word));
    if (name.isPresent() && names.putIfAbsent(name.get(), box) != null) {
      var taken = taken(name.get());
      box.fail(taken);
      throw taken;
    }
    try {
      box.claimRoom();
      listWithinQuota(box);
    } catch (SandboxException e) {
      unlist(box);
      box.fail(e);
      throw e;
    }
    try {
      box.make(() -> end(box, Duration.ZERO, ServedBox.EndedBy.DIED));
      if (draining) {
        // RACE: the drain may have looked before this one was listed.
        end(box, Duration.ZERO, ServedBox.EndedBy.DRAIN);
        throw new SandboxException(ErrorCode.DRAINING, "the daemon is going down");
      }
    } catch (RuntimeException e) {
      unlist(box);
      throw e;
    }
  }

  /** One at a time: two must not both be the last. */
  private void listWithinQuota(ServedBox box) {
    counting.lock();
    try {
      requireUserLeft(box.tenant());
      Quota quota = quotas.of(box.tenant());
      // All boxes are looked at to know what one tenant has.
      var use = quota.isNone() ? Map.<Quota.Kind, Double>of() : use(box.tenant());
      Quota.ofBox(box.order().spec().limits())
          .forEach((kind, more) -> quota.check(kind, use.getOrDefault(kind, 0.0), more));
      list(box);
    } finally {
      counting.unlock();
    }
  }

  private void requireUserLeft(String tenant) {
    UidShare.require(
        engine.uids().most(),
        engine.uids().left(),
        () ->
            all.values().stream()
                .filter(box -> box.tenant().equals(tenant) && box.state() != BoxState.GONE)
                .count());
  }

  /** What a tenant has now, as its quota counts it: boxes by what they may use. */
  public Map<Quota.Kind, Double> use(String tenant) {
    var use = new EnumMap<Quota.Kind, Double>(Quota.Kind.class);
    for (ServedBox box : all.values()) {
      if (box.tenant().equals(tenant) && box.state() != BoxState.GONE) {
        Quota.ofBox(box.order().spec().limits())
            .forEach((kind, amount) -> use.merge(kind, amount, Double::sum));
        use.merge(Quota.Kind.EXECS, (double) box.running(), Double::sum);
      }
    }
    return use;
  }

  // --- commands ---

  /** Starts a command when there is room; somebody has to attend to it. */
  public ServedExec start(ServedBox box, ExecSpec spec, BooleanSupplier hasLeft)
      throws InterruptedException {
    if (spec.operator()) {
      // The way in for whoever has to mend what is short.
      return box.startUnattended(spec);
    }
    try (Permit _ = entrance.admit(box.tenant(), COMMAND, hasLeft)) {
      return startAdmitted(box, spec);
    }
  }

  /** The same for one who was admitted. */
  public ServedExec startAdmitted(ServedBox box, ExecSpec spec) throws InterruptedException {
    Instant begun = Instant.now();
    countStarting(box.tenant(), 1);
    try {
      return box.startUnattended(spec);
    } catch (SandboxException e) {
      throw entrance.explain(e, begun);
    } finally {
      countStarting(box.tenant(), -1);
    }
  }

  /** Starts an interpreter that takes cells. */
  public ServedContext createContext(
      ServedBox box, ServedContext.Order order, BooleanSupplier hasLeft)
      throws InterruptedException {
    return box.newContext(order, () -> startInterpreter(box, order, hasLeft));
  }

  /** Ends the interpreter of a context, and gives it another one. */
  public void restart(ServedContext context, BooleanSupplier hasLeft) throws InterruptedException {
    context.restart(() -> startInterpreter(context.box(), context.order(), hasLeft));
  }

  /** The same, if the interpreter has ended; whether it had. */
  public boolean revive(ServedContext context, BooleanSupplier hasLeft)
      throws InterruptedException {
    return context.revive(() -> startInterpreter(context.box(), context.order(), hasLeft));
  }

  private ServedExec startInterpreter(
      ServedBox box, ServedContext.Order order, BooleanSupplier hasLeft)
      throws InterruptedException {
    ServedExec exec = start(box, order.spec(), hasLeft);
    box.attend(exec);
    exec.awaitStart();
    if (exec.ending().orElse(null) instanceof ServedExec.Ending.Refused(var reason, _)) {
      throw explain(reason, exec);
    }
    return exec;
  }

  private void countStarting(String tenant, int more) {
    counting.lock();
    try {
      int others = starting.getOrDefault(tenant, 0);
      Quota quota = more > 0 ? quotas.of(tenant) : Quota.NONE;
      if (!quota.isNone()) {
        double running = use(tenant).getOrDefault(Quota.Kind.EXECS, 0.0) + others;
        quota.check(Quota.Kind.EXECS, running, more);
      }
      starting.put(tenant, others + more);
      starting.values().removeIf(count -> count == 0);
    } finally {
      counting.unlock();
    }
  }

  /** What could not be begun, as far as the host is to blame. */
  public SandboxException explain(SandboxException failure, ServedExec exec) {
    return entrance.explain(failure, exec.startedAt());
  }

  /** Works with the files of a box, which takes a process in it for a moment. */
  public void useFiles(ServedBox box, ServedBox.Work work, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    Instant begun = Instant.now();
    // How long it lasts is up to the caller: it is counted until the next reading sees it.
    entrance.admit(box.tenant(), FILES, hasLeft).close();
    try {
      box.use(work);
    } catch (SandboxException e) {
      throw entrance.explain(e, begun);
    }
  }

  // --- when little is left ---

  /** No box is there, nor in the making. */
  public boolean isIdle() {
    return all.values().stream().allMatch(box -> box.state() == BoxState.GONE);
  }

  /** Ends boxes that may be ended when they are idle, those idle for longest first. */
  public int endIdle(BooleanSupplier enough) {
    int ended = 0;
    var idle =
        all.values().stream()
            .filter(box -> box.state().isAlive() && box.mayEndIdle())
            .sorted(Comparator.comparingLong(ServedBox::usedAt))
            .toList();
    for (ServedBox box : idle) {
      if (box.mayEndIdle() && box.beginEnding()) {
        end(box, Duration.ZERO, ServedBox.EndedBy.PRESSURE);
        box.endedEnding();
        ended++;
      }
      if (enough.getAsBoolean()) {
        break;
      }
    }
    return ended;
  }

  /** Forgets what is gone, the oldest first. */
  public int forgetGone(BooleanSupplier enough) {
    int forgotten = 0;
    for (ServedBox box : all.values()) {
      if (box.state() == BoxState.GONE) {
        forget(box);
        forgotten++;
        if (forgotten % FORGOTTEN_A_LOOK == 0 && enough.getAsBoolean()) {
          break;
        }
      }
    }
    return forgotten;
  }

  private static SandboxException taken(Key name) {
    return new SandboxException(ErrorCode.CONFLICT, "the name \"" + name.word() + "\" is taken");
  }

  /** RACE: it may be taken a moment later; this only spares a box that was made ahead. */
  private void requireFree(Key name) {
    if (names.containsKey(name)) {
      throw taken(name);
    }
  }

  private void requireOpen() {
    if (draining) {
      throw new SandboxException(ErrorCode.DRAINING, "the daemon is going down");
    }
  }

  /** By id, or by name. What is another tenant's does not exist. */
  public ServedBox find(Caller caller, String word) {
    return listed(caller, word).orElseThrow(() -> unknown(caller, word));
  }

  /** The box of that id or name, if it was not removed. */
  public Optional<ServedBox> listed(Caller caller, String word) {
    Long number = ids.get(word);
    ServedBox box = number == null ? named(caller, word) : all.get(number);
    return Optional.ofNullable(box).filter(each -> caller.mayTouch(each.tenant()));
  }

  private SandboxException unknown(Caller caller, String word) {
    String removal =
        removed
            .find(caller, word, Instant.now())
            .map(box -> ": it was removed at " + box.at())
            .orElse("");
    return new SandboxException(ErrorCode.NOT_FOUND, "no box \"" + word + "\"" + removal);
  }

  private @Nullable ServedBox named(Caller caller, String word) {
    return names.get(new Key(caller.tenant(), word));
  }

  /** Those the caller may see, the oldest first. */
  public List<ServedBox> list(Caller caller) {
    return all.values().stream().filter(box -> caller.mayTouch(box.tenant())).toList();
  }

  /** What the ledger lists for a box. */
  public List<Holding> holdings(ServedBox box) {
    return engine.holdings().stream().filter(holding -> holding.box().equals(box.id())).toList();
  }

  /**
   * The answer to a removal.
   *
   * @param certificate empty when the removal has only begun
   */
  public record Removal(String id, Optional<Certificate> certificate) {
    public boolean isDone() {
      return certificate.filter(Certificate::isClean).isPresent();
    }
  }

  /**
   * Ends a box and forgets it. Repeating it gives the same certificate, as long as the box is
   * remembered.
   *
   * @param word its id, or its name
   * @param force without it only what has ended is forgotten
   * @param wait whether to return only when the box is gone, or stuck
   */
  public Removal remove(Caller caller, String word, boolean force, boolean wait)
      throws InterruptedException {
    Optional<ServedBox> box = listed(caller, word);
    if (box.isEmpty()) {
      // ORDER: a box is remembered as removed before it leaves the list.
      return removed
          .find(caller, word, Instant.now())
          .map(before -> new Removal(before.id(), Optional.of(before.certificate())))
          .orElseThrow(() -> unknown(caller, word));
    }
    if (force && !wait && box.get().state() != BoxState.GONE) {
      aside(REMOVE, box.get(), () -> removeAndRemember(box.get(), true));
      return new Removal(box.get().id(), Optional.empty());
    }
    Certificate certificate = removeAndRemember(box.get(), force);
    return new Removal(box.get().id(), Optional.of(box.get().certificate().orElse(certificate)));
  }

  private Certificate removeAndRemember(ServedBox box, boolean force) throws InterruptedException {
    Certificate certificate = end(box, force);
    return certificate.isClean() ? leave(box, true) : certificate;
  }

  private void remember(ServedBox box) {
    box.certificate()
        .ifPresent(
            proof ->
                removed.add(
                    new RemovedBoxes.Removed(
                        box.id(), box.tenant(), box.order().name(), proof, Instant.now())));
  }

  /** Begins to end a box: commands by the ladder, then the box. */
  public void beginStop(ServedBox box, Duration grace) {
    aside(STOP, box, () -> box.end(grace, ServedBox.EndedBy.REQUEST));
  }

  /**
   * Ends a box and forgets it; one that does not end stays.
   *
   * @param force without it only what has ended is forgotten
   */
  public Certificate remove(ServedBox box, boolean force) throws InterruptedException {
    Certificate certificate = end(box, force);
    return certificate.isClean() ? leave(box, false) : certificate;
  }

  private static Certificate end(ServedBox box, boolean force) throws InterruptedException {
    if (!force && box.state() != BoxState.GONE && !box.isRemovalWanted()) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE,
          "box " + box.id() + " is " + box.state().word() + ": stop it first, or force it");
    }
    return box.end(Duration.ZERO, ServedBox.EndedBy.REQUEST);
  }

  /** One of which something cannot be removed stays listed, as stuck, and is tried again. */
  private Certificate leave(ServedBox box, boolean isRemembered) {
    Certificate certificate = box.forget();
    if (!certificate.isClean()) {
      box.wantRemoval();
      LOG.log(
          Level.WARNING,
          "event=box_not_forgotten, trying again box={0} certificate=\"{1}\"",
          box.id(),
          certificate);
      return certificate;
    }
    if (isRemembered) {
      // ORDER: a request that no longer finds it on a list finds it here.
      remember(box);
    }
    unlist(box);
    return certificate;
  }

  /** Removes a box while nobody waits for it; a box that does not end then is stuck. */
  public void removeAside(ServedBox box) {
    aside(REMOVE, box, () -> remove(box, true));
  }

  private interface Ending {
    Certificate end() throws InterruptedException;
  }

  /** Ends a box after the answer, unless a thread does the same to it already. */
  private void aside(String verb, ServedBox box, Ending ending) {
    String name = verb + box.id();
    Thread ender =
        Thread.ofVirtual()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    ending.end();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  } catch (RuntimeException e) {
                    LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
                  } finally {
                    aside.remove(name);
                  }
                });
    if (aside.putIfAbsent(name, ender) == null) {
      ender.start();
    }
  }

  public WarmPool pool() {
    return pool;
  }

  private void poisoned(Box box, Fate fate) {
    var data = new LinkedHashMap<String, Object>();
    data.put("box", box.id().value());
    data.put("reason", fate.word());
    events.publish(Sweeper.NO_TENANT, "pool", data);
  }

  /**
   * Removes a box when its first command has ended; at once when there is none. A box that does not
   * end then is stuck, and tried again like any other.
   */
  public void removeAfterCommand(ServedBox box) {
    Optional<ServedExec> first = box.execs().stream().findFirst();
    Thread.ofVirtual()
        .name("ebb-run-" + box.id())
        .start(
            () -> {
              try {
                if (first.isPresent()) {
                  first.get().await(LONG);
                }
                box.end(Duration.ZERO, ServedBox.EndedBy.REQUEST);
                if (first.isPresent()) {
                  first.get().awaitReaders(READ_PATIENCE);
                }
                remove(box, true);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } catch (RuntimeException e) {
                LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
              }
            });
  }

  private void forgetWords(ServedBox box) {
    box.order().name().ifPresent(word -> names.remove(new Key(box.tenant(), word), box));
    once.values().removeIf(each -> each.isOf(box));
  }

  private void unlist(ServedBox box) {
    box.giveBack();
    forgetWords(box);
    Long number = ids.remove(box.id());
    if (number != null) {
      all.remove(number);
    }
    // ORDER: a caller that was told 404 must not find it afterwards.
    box.unlisted();
  }

  // --- deadlines ---

  private void keepHouse() {
    try {
      var stalls = new StallWatch();
      while (!draining) {
        Thread.sleep(ROUND);
        if (!stalls.hasStalled()) {
          keepHouse(Instant.now());
        }
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=housekeeper_ends");
    }
  }

  /** Whatever goes wrong in one round, there is a next one. */
  private void keepHouse(Instant now) {
    try {
      for (ServedBox box : all.values()) {
        look(box, now);
      }
      forgetTheOldest(now);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=housekeeping_failed", e);
    }
  }

  private void look(ServedBox box, Instant now) {
    if (box.state().isAlive() && box.isOverdue(now)) {
      endAside(box, ServedBox.EndedBy.TTL);
    } else if (box.state().isAlive() && box.isIdle()) {
      endAside(box, ServedBox.EndedBy.IDLE);
    } else if (box.state() == BoxState.STUCK && box.isToBeTried(now)) {
      endAside(box, ServedBox.EndedBy.REQUEST);
    }
  }

  private void endAside(ServedBox box, ServedBox.EndedBy by) {
    if (box.beginEnding()) {
      Thread.ofVirtual()
          .name("ebb-end-" + box.id())
          .start(
              () -> {
                end(box, by);
                box.endedEnding();
              });
    }
  }

  /** ORDER: a command that ended before the box is ended is known as such. */
  private void end(ServedBox box, ServedBox.EndedBy by) {
    try {
      box.hearOut();
      end(box, DEFAULT_GRACE, by);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void end(ServedBox box, Duration grace, ServedBox.EndedBy by) {
    try {
      Certificate certificate = box.end(grace, by);
      if (certificate.isClean() && box.isRemovalWanted()) {
        certificate = leave(box, true);
      }
      LOG.log(
          certificate.isClean() ? Level.DEBUG : Level.WARNING,
          "event=box_ended box={0} by={1} certificate=\"{2}\"",
          box.id(),
          by.word(),
          certificate);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
    }
  }

  private static void tellLeft(ServedBox box) {
    LOG.log(
        Level.WARNING,
        "event=box_left_for_the_next_daemon box={0} state={1} certificate=\"{2}\"",
        box.id(),
        box.state().word(),
        box.certificate().map(Certificate::toString).orElse("none yet"));
  }

  private void forgetTheOldest(Instant now) {
    try {
      engine.forgetOutdated(OUTDATED_A_ROUND);
    } catch (SandboxException e) {
      LOG.log(Level.ERROR, "event=forget_failed", e);
    }
    var gone = all.values().stream().filter(box -> box.state() == BoxState.GONE).toList();
    history.outdated(gone, box -> box.endedAt().orElse(Instant.MAX), now).forEach(this::forget);
  }

  private void forget(ServedBox box) {
    try {
      leave(box, true);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=forget_failed box=" + box.id(), e);
    }
  }

  /**
   * Takes no more orders and ends every box that is attached, all at once. What does not die within
   * the bound is left on the ledger, for the next daemon.
   */
  @Override
  public void close() {
    if (isClosed.getAndSet(true)) {
      return;
    }
    draining = true;
    engine.waitNoLongerThan(Deadline.in(DRAIN_BOUND));
    housekeeper.interrupt();
    unreached.close();
    pool.close();
    // The grace of a stop may be long; a detached box stays for the next daemon.
    aside.forEach((name, thread) -> interruptIf(name.startsWith(STOP), thread));
    var ending = new ArrayList<>(aside.values());
    var attached = all.values().stream().filter(box -> !box.order().detached()).toList();
    for (ServedBox box : attached) {
      ending.add(
          Thread.ofVirtual()
              .name("ebb-drain-" + box.id())
              .start(() -> end(box, DEFAULT_GRACE, ServedBox.EndedBy.DRAIN)));
    }
    try {
      for (Thread each : ending) {
        each.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    attached.stream().filter(box -> box.state() != BoxState.GONE).forEach(Boxes::tellLeft);
  }

  private static void interruptIf(boolean condition, Thread thread) {
    if (condition) {
      thread.interrupt();
    }
  }
}
