package dev.ebb.server.boxes;

import dev.ebb.backend.Network;
import dev.ebb.box.Box;
import dev.ebb.box.BoxEnd;
import dev.ebb.box.BoxId;
import dev.ebb.box.BoxState;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.egress.Decision;
import dev.ebb.engine.Engine;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecSpec;
import dev.ebb.exec.FileEntry;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.ledger.Certificate;
import dev.ebb.pool.PoolItem;
import dev.ebb.server.access.Caps;
import dev.ebb.server.access.TenantMemory;
import dev.ebb.server.metrics.Metrics;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One box of a tenant, from its order until it is forgotten. Thread-safe. */
public final class ServedBox {
  private static final Logger LOG = System.getLogger(ServedBox.class.getName());

  /** How many commands that have ended are remembered. */
  private static final int ENDED_KEPT = 100;

  /** How many more are kept while a client reads their output. */
  private static final int READ_KEPT = 100;

  private static final int CONTEXTS_MOST = 32;

  private static final Backoff STUCK = new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(30));

  /** In what the next daemon is told of its end. */
  private static final String ENDED_BY = "ended-by";

  private static final Duration FOREVER = Duration.ofDays(36_500);
  private static final Duration DEADLINE_SLACK = Duration.ofSeconds(10);
  private static final Duration LADDER_SLACK = Duration.ofSeconds(10);
  private static final Duration DRAIN_SLACK = Duration.ofSeconds(1);
  private static final Duration LAST_WORD = Duration.ofSeconds(2);
  private static final Pattern ID = Pattern.compile("b[0-9a-f]{12}");

  /** Whose doing the end of a box was. */
  public enum EndedBy {
    REQUEST,
    TTL,
    IDLE,
    DRAIN,
    PRESSURE,
    DIED;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Empty for one that only another version knows. */
    static Optional<EndedBy> parse(@Nullable String word) {
      return Stream.of(values()).filter(each -> each.word().equals(word)).findFirst();
    }
  }

  private final Engine engine;
  private final Events events;
  private final Metrics metrics;
  private final TenantMemory memory;

  /** For what it is as it was ordered. */
  private final TenantMemory.Claim room;

  /** The box, if it was made ahead. */
  private final Optional<PoolItem> warm;

  /** It is ours, or was refused. */
  private final AtomicBoolean isClaimed = new AtomicBoolean();

  private final BoxId id;
  private final String tenant;
  private final BoxOrder order;
  private final Instant createdAt;
  private final Optional<Boxes.Idempotency> idempotency;
  private final CompletableFuture<Box> made = new CompletableFuture<>();
  private final NavigableMap<Integer, ServedExec> execs = new ConcurrentSkipListMap<>();

  /** The commands that have ended, the first of them first; some may be forgotten already. */
  private final Queue<ServedExec> ended = new ConcurrentLinkedQueue<>();

  private final Map<String, ServedContext> contexts = new ConcurrentSkipListMap<>();

  private final OrderedLock newContexts = new OrderedLock(LockOrder.CONTEXT_CREATE);

  /** Of contexts, by which each has its id. */
  private final AtomicInteger contextCount = new AtomicInteger();

  private final AtomicInteger endedCount = new AtomicInteger();
  private final AtomicReference<@Nullable EndedBy> endedBy = new AtomicReference<>();
  private final AtomicInteger users = new AtomicInteger();
  private final AtomicBoolean ending = new AtomicBoolean();
  private volatile ByteSize fileSize = Caps.ANY_SIZE;
  private volatile BoxState state = BoxState.CREATING;
  private final BoxTimes times;

  /** Of one that is stuck. */
  private volatile Instant tryAt = Instant.MAX;

  private final EgressNews egressNews = new EgressNews();
  private final AtomicInteger stuckInARow = new AtomicInteger();

  private volatile boolean isUnlisted;

  private volatile boolean removalWanted;
  private volatile @Nullable Instant endedAt;
  private volatile @Nullable Certificate certificate;

  /**
   * One that is to be had.
   *
   * @param warm empty: it is still to be made
   */
  ServedBox(
      Engine engine,
      Events events,
      Metrics metrics,
      TenantMemory memory,
      BoxNote note,
      Optional<PoolItem> warm) {
    this(
        engine,
        events,
        metrics,
        memory,
        warm.map(item -> item.box().id()).orElseGet(engine::newId),
        note,
        warm);
  }

  private ServedBox(
      Engine engine,
      Events events,
      Metrics metrics,
      TenantMemory memory,
      BoxId id,
      BoxNote note,
      Optional<PoolItem> warm) {
    this.engine = engine;
    this.events = events;
    this.metrics = metrics;
    this.memory = memory;
    this.id = id;
    this.warm = warm;
    tenant = note.tenant();
    order = note.order();
    createdAt = note.createdAt();
    times = new BoxTimes(order, createdAt);
    idempotency = note.idempotency();
    room = memory.claim(tenant);
  }

  /** Claims the memory for what it is, or is refused. */
  void claimRoom() {
    room.add(order.weight());
  }

  /** For what is there already, and cannot be refused. */
  private TenantMemory.Claim room(long bytes) {
    TenantMemory.Claim claim = memory.claim(tenant);
    if (!claim.tryAdd(bytes)) {
      LOG.log(Level.DEBUG, "event=adopted_beyond_share box=" + id + " bytes=" + bytes);
    }
    return claim;
  }

  /** Nothing of it is remembered any more. */
  void giveBack() {
    room.close();
    execs.values().forEach(ServedExec::giveBack);
  }

  /** Files that are written, or read, are no larger than this. */
  void capFiles(ByteSize most) {
    fileSize = most;
  }

  public BoxFiles files() {
    return new BoxFiles(box(), fileSize);
  }

  /** The memory of its tenant. */
  public TenantMemory.Claim claim() {
    return memory.claim(tenant);
  }

  /** One that the daemon before this one had. */
  static ServedBox adopt(
      Engine engine, Events events, Metrics metrics, TenantMemory memory, Engine.Adopted adopted) {
    Box box = adopted.box();
    var served =
        new ServedBox(
            engine,
            events,
            metrics,
            memory,
            box.id(),
            adopted
                .record()
                .map(record -> BoxNote.parse(record.note(), box.spec()))
                .orElseGet(() -> BoxNote.unknown(box.spec())),
            Optional.empty());
    served.room.tryAdd(served.order.weight());
    served.made.complete(box);
    box.end().ifPresent(served::hasEnded);
    for (Exec exec : adopted.execs()) {
      var found = new ServedExec(served, exec, served.room(ServedExec.weight(exec.spec())));
      served.execs.put(found.number(), found);
      served.attend(found);
    }
    return served;
  }

  private void hasEnded(BoxEnd end) {
    endedAt = end.at();
    certificate = end.certificate();
    endedBy.set(EndedBy.parse(end.note().get(ENDED_BY)).orElse(null));
  }

  /** Hears of its changes from now on. */
  void listen(Runnable whenLost) {
    BoxState found = box().listen(next -> changed(next, whenLost));
    state = found;
    if (found == BoxState.LOST) {
      endedBy.set(byItself());
      changed(found, whenLost);
    }
  }

  /** Of one that ended, and not by us: its init does that when its time is up and no daemon did. */
  private EndedBy byItself() {
    return order.detached() && isOverdue(Instant.now()) ? EndedBy.TTL : EndedBy.DIED;
  }

  static boolean isId(String text) {
    return ID.matcher(text).matches();
  }

  /** Makes the box; {@code whenLost} runs when it has died by itself. */
  void make(Runnable whenLost) {
    long begun = System.nanoTime();
    try {
      made.complete(
          warm.isPresent()
              ? handedOut(warm.get().box(), whenLost)
              : engine.create(id, order.spec(), next -> changed(next, whenLost)));
      metrics.created(since(begun), true);
    } catch (RuntimeException e) {
      metrics.created(since(begun), false);
      made.completeExceptionally(e);
      throw e;
    }
  }

  private Box handedOut(Box box, Runnable whenLost) {
    isClaimed.set(true);
    use();
    box.handTo(next -> changed(next, whenLost));
    return box;
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }

  void detachIfOrdered() {
    if (order.detached()) {
      // The daemon is to end it first, if there is one then.
      var endsAt = order.ttl().map(ttl -> createdAt.plus(ttl).plus(DEADLINE_SLACK));
      box().detach(endsAt, new BoxNote(tenant, order, createdAt, idempotency).fields());
    }
  }

  /** The box that it would have been, had it not been refused; once. */
  Optional<PoolItem> takeUnused() {
    return warm.filter(_ -> isClaimed.compareAndSet(false, true));
  }

  /** The file that it was taken with, if it could be placed. */
  Optional<FileEntry> placed() {
    return warm.flatMap(PoolItem::placed);
  }

  /** It will never be made. */
  void fail(SandboxException reason) {
    made.completeExceptionally(reason);
  }

  /** True for the one who shall end it, when nobody asked. */
  boolean beginEnding() {
    return ending.compareAndSet(false, true);
  }

  void endedEnding() {
    ending.set(false);
  }

  /** Called in order, and must not wait. */
  private void changed(BoxState next, Runnable whenLost) {
    if (next == BoxState.RUNNING) {
      // ORDER: before anybody sees it run. However long it was made, or paused, it is not idle yet.
      use();
    }
    if (next == BoxState.GONE || next == BoxState.STUCK) {
      // ORDER: whoever sees its end finds the proof.
      prove();
    }
    if (next == BoxState.GONE && endedAt == null) {
      endedAt = Instant.now();
    }
    state = next;
    if (next == BoxState.STUCK) {
      tryAt = Instant.now().plus(STUCK.after(stuckInARow.incrementAndGet()));
    }
    events.publish(tenant, "box", describe("state", next.word()));
    if (next == BoxState.LOST) {
      endedBy.compareAndSet(null, byItself());
      Thread.ofVirtual().name("ebb-lost-" + id).start(whenLost);
    }
  }

  private void prove() {
    if (made.state() == Future.State.SUCCESS) {
      made.resultNow().certificate().ifPresent(proof -> certificate = proof);
    }
  }

  private Map<String, Object> describe(String key, Object value) {
    var data = new LinkedHashMap<String, Object>();
    data.put("box", id.value());
    order.name().ifPresent(name -> data.put("name", name));
    data.put(key, value);
    EndedBy reason = endedBy.get();
    if (reason != null) {
      data.put("reason", reason.word());
    }
    return data;
  }

  public String id() {
    return id.value();
  }

  public String tenant() {
    return tenant;
  }

  public BoxOrder order() {
    return order;
  }

  public BoxState state() {
    return state;
  }

  public Instant createdAt() {
    return createdAt;
  }

  public Optional<Boxes.Idempotency> idempotency() {
    return idempotency;
  }

  public Optional<Instant> endedAt() {
    return Optional.ofNullable(endedAt);
  }

  public Optional<EndedBy> endedBy() {
    return Optional.ofNullable(endedBy.get());
  }

  public Optional<Certificate> certificate() {
    return Optional.ofNullable(certificate);
  }

  public List<ServedExec> execs() {
    return List.copyOf(execs.values());
  }

  public ServedExec exec(int number) {
    ServedExec exec = execs.get(number);
    if (exec == null) {
      throw new SandboxException(
          ErrorCode.NOT_FOUND, "box " + id + " knows no exec " + number + ", or no longer");
    }
    return exec;
  }

  public long running() {
    return execs.values().stream().filter(ServedExec::isRunning).count();
  }

  /** The box itself, when it is made; waits for that. */
  public Box box() {
    try {
      return made.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof SandboxException reason
          ? reason
          : new IllegalStateException(e.getCause());
    }
  }

  /** As it was ordered, or changed since. */
  public Network network() {
    return made.state() == Future.State.SUCCESS
        ? made.resultNow().spec().network()
        : order.spec().network();
  }

  /** Changes what it may reach; connections that are not allowed any more are cut. */
  public void changeNetwork(Network wanted) throws InterruptedException {
    box().changeNetwork(wanted);
    use();
    events.publish(tenant, "network", describe("network", wanted.toString()));
  }

  /** Tells of a request to its proxy, unless there were too many lately. */
  void tell(Decision decision) {
    OptionalLong omitted = egressNews.admit(System.nanoTime());
    if (omitted.isPresent()) {
      var data = describe("outcome", decision.outcome().word());
      if (!decision.destination().isEmpty()) {
        data.put("destination", decision.destination());
      }
      if (omitted.getAsLong() > 0) {
        data.put("omitted", omitted.getAsLong());
      }
      events.publish(tenant, decision.isAllowed() ? "egress_allowed" : "egress_refused", data);
    }
  }

  /** Somebody works with it. */
  public void use() {
    times.use();
  }

  /** Work that takes its time. */
  public interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** Works with it; as long as that lasts it is not idle. */
  public void use(Work work) throws IOException, InterruptedException {
    users.incrementAndGet();
    try {
      work.run();
    } finally {
      use();
      users.decrementAndGet();
    }
  }

  /** Starts a command, which need not run yet. */
  public ServedExec start(ExecSpec spec) throws InterruptedException {
    ServedExec exec = startUnattended(spec);
    attend(exec);
    return exec;
  }

  /** The same for a caller who is to attend to it. */
  public ServedExec startUnattended(ExecSpec spec) throws InterruptedException {
    use();
    TenantMemory.Claim claim = memory.claim(tenant, ServedExec.weight(spec));
    ServedExec exec;
    try {
      Optional<PoolItem> waiting = warm.filter(item -> item.waitsFor(spec));
      Exec started = waiting.isPresent() ? waiting.get().begin() : Exec.start(box(), spec);
      exec = new ServedExec(this, started, claim);
    } catch (InterruptedException | RuntimeException e) {
      claim.close();
      throw e;
    }
    // ORDER: whoever hears of it finds it.
    execs.put(exec.number(), exec);
    publish(exec, Map.of("state", "running"));
    return exec;
  }

  /** Has a thread attend to it. */
  public void attend(ServedExec exec) {
    Thread.ofVirtual()
        .name("ebb-exec-" + id + "-" + exec.number())
        .start(
            () -> {
              try {
                exec.attend(FOREVER);
              } catch (InterruptedException e) {
                exec.abandon(e);
              }
            });
  }

  /**
   * Attends to it for so long, and has that gone on with if it lasts longer: most commands are over
   * soon, and whoever waits for one need not be woken by another who does.
   */
  public Optional<ServedExec.Ending> attend(ServedExec exec, Duration patience)
      throws InterruptedException {
    boolean hasEnded = false;
    try {
      hasEnded = exec.attend(patience);
    } finally {
      if (!hasEnded) {
        attend(exec);
      }
    }
    return exec.ending();
  }

  /** Tells and counts the end of a command. */
  void seeOff(ServedExec exec) {
    var data = new LinkedHashMap<String, Object>();
    data.put("state", "ended");
    if (exec.ending().orElse(null) instanceof ServedExec.Ending.Result(var result, _)) {
      data.put("status", result.cause().status());
      metrics.ended(result.cause().status(), result.wall());
      exec.killedAt().ifPresent(at -> metrics.killed(since(at)));
      data.put("exitCode", result.cause().code());
    }
    publish(exec, data);
    prune(exec);
  }

  private void publish(ServedExec exec, Map<String, Object> what) {
    var data = describe("exec", exec.number());
    data.putAll(what);
    events.publish(tenant, "exec", data);
  }

  /** Forgets what ended first, now that one more has. */
  private void prune(ServedExec latest) {
    ended.add(latest);
    endedCount.incrementAndGet();
    prune();
  }

  /** Spares commands whose output is being read, up to a bound. */
  void prune() {
    if (endedCount.get() <= ENDED_KEPT) {
      return;
    }
    for (ServedExec oldest : List.copyOf(ended)) {
      int excess = endedCount.get() - ENDED_KEPT;
      if (excess <= 0) {
        return;
      }
      // RACE: other threads prune as well; the one that takes it off the list forgets it.
      if ((oldest.retire() || excess > READ_KEPT) && ended.remove(oldest)) {
        endedCount.decrementAndGet();
        forgetNow(oldest);
      }
    }
  }

  /** Forgets all ended commands whose output is not being read, to make room. */
  void forgetEnded() {
    for (int left = endedCount.get(); left > 0; left--) {
      ServedExec oldest = ended.poll();
      if (oldest == null) {
        return;
      }
      if (oldest.retire()) {
        endedCount.decrementAndGet();
        forgetNow(oldest);
      } else {
        ended.add(oldest);
      }
    }
  }

  /** Whatever goes wrong with the one is not the other's end. */
  private void forgetNow(ServedExec oldest) {
    try {
      forget(oldest);
    } catch (SandboxException e) {
      LOG.log(
          Level.WARNING,
          "event=exec_not_forgotten box=%s exec=%d".formatted(id, oldest.number()),
          e);
    }
  }

  /** Forgets one command that has ended, with what it wrote. */
  public void forget(ServedExec exec) {
    if (execs.remove(exec.number()) != null) {
      exec.giveBack();
      exec.exec().close();
    }
  }

  // --- contexts ---

  /** Those that were not removed, the oldest first. */
  public List<ServedContext> contexts() {
    return contexts.values().stream()
        .sorted(Comparator.comparing(ServedContext::createdAt))
        .toList();
  }

  /** By id, or by name. */
  public ServedContext context(String word) {
    return findContext(word)
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.NOT_FOUND,
                    "box %s has no context \"%s\"; a context ends with its box, or with the daemon"
                        .formatted(id, word)));
  }

  /** One at a time, so that no two have one name. */
  ServedContext newContext(ServedContext.Order what, ServedContext.Start start)
      throws InterruptedException {
    newContexts.lockInterruptibly();
    try {
      requireRoom(what.name());
      var context =
          new ServedContext(this, "c" + contextCount.incrementAndGet(), what, start.start());
      contexts.put(context.id(), context);
      return context;
    } finally {
      newContexts.unlock();
    }
  }

  private void requireRoom(Optional<String> name) {
    if (contexts.size() >= CONTEXTS_MOST) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "box " + id + " has " + CONTEXTS_MOST + " contexts already");
    }
    if (name.flatMap(this::findContext).isPresent()) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "box %s has a context \"%s\"".formatted(id, name.get()));
    }
  }

  private Optional<ServedContext> findContext(String word) {
    return contexts.values().stream()
        .filter(each -> each.id().equals(word) || each.name().equals(Optional.of(word)))
        .findFirst();
  }

  /** Ends a context and forgets it. */
  public void remove(ServedContext context) throws InterruptedException {
    context.endForGood();
    contexts.remove(context.id(), context);
    forget(context.exec());
  }

  /** An interpreter that waits for code is nobody who works. */
  private boolean isWaiting(ServedExec exec) {
    return contexts.values().stream().anyMatch(each -> each.exec() == exec && each.isIdle());
  }

  /** The kill ladder on every running command, all at once. */
  public List<ServedExec> killAll(Duration grace) {
    var running = execs.values().stream().filter(ServedExec::isRunning).toList();
    running.forEach(exec -> exec.kill(grace));
    return running;
  }

  /**
   * Ends it: commands by the ladder, then the box. Repeating it gives the same certificate, or
   * tries again what was stuck.
   */
  public Certificate end(Duration grace, EndedBy by) throws InterruptedException {
    Box box = box();
    EndedBy first = Objects.requireNonNullElse(endedBy.compareAndExchange(null, by), by);
    if (grace.isPositive() && state == BoxState.RUNNING) {
      var killed = new ArrayList<>(killAll(grace));
      // A daemon that goes down kills by the box what is not gone by then.
      Duration slack = by == EndedBy.DRAIN ? DRAIN_SLACK : LADDER_SLACK;
      Deadline deadline = Deadline.in(grace.plus(slack));
      for (ServedExec exec : killed) {
        exec.awaitSurely(Duration.ofNanos(deadline.remainingNanos()));
      }
    }
    boolean isAgain = state == BoxState.GONE;
    Certificate proof = engine.stop(box, Map.of(ENDED_BY, first.word()));
    if (!isAgain) {
      metrics.released(proof.took(), proof.isClean());
      awaitCommands(proof);
    }
    return proof;
  }

  /** RACE: commands end with their box, but whoever attends to one may be late. */
  private void awaitCommands(Certificate proof) throws InterruptedException {
    if (proof.isClean()) {
      for (ServedExec exec : execs().stream().filter(ServedExec::isRunning).toList()) {
        exec.await(LAST_WORD);
      }
    }
  }

  /** What cannot be forgotten makes it stuck, and is tried again. */
  Certificate forget() {
    return engine.forget(box());
  }

  /** Its removal has begun, and is finished when it can be. */
  void wantRemoval() {
    removalWanted = true;
  }

  boolean isRemovalWanted() {
    return removalWanted;
  }

  /** When its time to live is over. */
  public Optional<Instant> expiresAt() {
    return times.expiresAt();
  }

  /** Hears all that was said in it until now, before it is ended for the time it took. */
  void hearOut() throws InterruptedException {
    var _ = box().hearOut();
  }

  /** It is no longer listed. */
  void unlisted() {
    isUnlisted = true;
  }

  /**
   * What to tell of work that failed. RACE: a box that ends, or is removed, in the middle makes
   * work with it fail in many ways, for one reason.
   */
  public RuntimeException meanwhile(RuntimeException failure) {
    boolean isOurs =
        !(failure instanceof SandboxException known)
            || known.code() == ErrorCode.INTERNAL
            || known.code() == ErrorCode.SETUP_FAILED;
    if (made.isCompletedExceptionally() || (isOurs && isUnlisted)) {
      return new SandboxException(ErrorCode.NOT_FOUND, "box " + id + " is not there", failure);
    }
    if (isOurs && made.isDone() && !state.isAlive()) {
      return new SandboxException(
          ErrorCode.WRONG_STATE, "box " + id + " is not running but " + state.word(), failure);
    }
    return failure;
  }

  /** Whether work with it failed because its end was requested. */
  boolean wasEndedMeanwhile(RuntimeException failure) {
    return endedBy.get() == EndedBy.REQUEST
        && meanwhile(failure) instanceof SandboxException known
        && (known.code() == ErrorCode.WRONG_STATE || known.code() == ErrorCode.NOT_FOUND);
  }

  boolean isOverdue(Instant now) {
    return times.isOverdue(now);
  }

  boolean isToBeTried(Instant now) {
    return now.isAfter(tryAt);
  }

  /** Nobody works with it, and whoever ordered it counts on its end when that is so. */
  boolean mayEndIdle() {
    return execs.values().stream().filter(ServedExec::isRunning).allMatch(this::isWaiting)
        && users.get() == 0
        && order.idleTimeout().isPresent();
  }

  long usedAt() {
    return times.usedAt();
  }

  boolean isIdle() {
    return mayEndIdle() && times.isIdle();
  }
}
