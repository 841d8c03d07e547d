package dev.ebb.box;

import static java.util.Objects.requireNonNull;

import dev.ebb.backend.BoxContents;
import dev.ebb.backend.CallOff;
import dev.ebb.backend.FirstFile;
import dev.ebb.backend.Network;
import dev.ebb.backend.SandboxSpec;
import dev.ebb.backend.bubblewrap.InitChannel;
import dev.ebb.backend.bubblewrap.Launch;
import dev.ebb.backend.bubblewrap.Nursery;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.egress.BoxEgress;
import dev.ebb.egress.Egress;
import dev.ebb.egress.EgressPolicy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.OrderedReadWriteLock;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.ledger.Certificate;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Kind;
import dev.ebb.ledger.Ledger;
import dev.ebb.process.MountTable;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import dev.ebb.process.StuckProcess;
import dev.ebb.step.Step;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox, from its first ledger line to its certificate.
 *
 * <p>Thread-safe. Owns its cgroups, its init, its control socket and its host uid.
 */
public final class Box {
  private static final Logger LOG = System.getLogger(Box.class.getName());
  private static final Duration FREEZE_BOUND = Duration.ofSeconds(10);
  private static final Duration START_BOUND = Duration.ofSeconds(10);
  private static final Duration REAPED_BOUND = Duration.ofSeconds(5);
  private static final Duration LISTEN_BOUND = Duration.ofSeconds(5);
  private static final Duration HEAR_BOUND = Duration.ofSeconds(5);

  private static final Duration RETRY = Duration.ofMillis(1);

  private final BoxHost host;
  private final BoxId id;
  private volatile BoxSpec spec;
  private final Enclosure enclosure;
  private final LogDirectory logs;
  private final Journal journal;
  private final Scope scope;
  private final OomWatch oomWatch;
  private final BoxLifecycle lifecycle;

  /** Somebody ends it, or waits for the lock to do so. */
  private final CallOff ending = new CallOff();

  private final AtomicInteger execs = new AtomicInteger();
  private final List<Holding> holdings = new ArrayList<>();
  private final OrderedLock releasing = new OrderedLock(LockOrder.BOX_RELEASE);
  private final OrderedReadWriteLock starting = new OrderedReadWriteLock(LockOrder.BOX_STARTING);
  private final AtomicInteger pendingStarts = new AtomicInteger();
  private boolean hasLane;
  private int uid = -1;
  private @Nullable Holding logsHolding;
  private volatile boolean hasLogs;
  private @Nullable Holding recordHolding;

  /** Its logs are to be removed, too. */
  private boolean isToForget;

  private volatile boolean detached;

  /** Its engine ends, and it was not detached then. */
  private boolean isToEnd;

  private @Nullable Holding beginning;
  private @Nullable Holding outsideHolding;
  private @Nullable Launch launch;
  private @Nullable Maker maker;
  private volatile @Nullable InitChannel channel;
  private @Nullable BoxEgress egress;
  private volatile @Nullable Certificate certificate;
  private @Nullable BoxEnd end;
  private @Nullable ProcessRef foundInit;

  /** Each was seen dead, and its descriptor may be closed by now. */
  private boolean outsideGone;

  private boolean initGone;

  /** Who makes boxes. */
  public enum Maker {
    BWRAP,
    NURSERY,
    ZYGOTE
  }

  private Box(BoxHost host, BoxId id, BoxSpec spec, Enclosure enclosure, BoxLifecycle lifecycle)
      throws KernelException {
    this.host = host;
    this.lifecycle = lifecycle;
    this.id = id;
    this.spec = spec;
    this.enclosure = enclosure;
    logs = host.instance().logs(id.value());
    journal = logs.record();
    oomWatch = new OomWatch(id, enclosure);
    scope = Scope.in(host.scope());
  }

  /**
   * Makes a box, or unwinds all that was made so far and tells why.
   *
   * @param wanted who shall make it; it is made all the same if that one cannot
   * @param listener hears of each change of its state, in order, and must not wait for anything
   * @param unfinished takes a box that could neither be made nor unwound, to release it again
   */
  public static Box create(
      BoxHost host,
      BoxId id,
      BoxSpec spec,
      Maker wanted,
      Consumer<BoxState> listener,
      Consumer<Box> unfinished) {
    Box box;
    try {
      box = new Box(host, id, spec, host.enclosure(id), new BoxLifecycle(listener));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
    try {
      box.setUp(wanted);
      return box;
    } catch (Throwable failure) {
      throw box.unwind(failure, unfinished);
    }
  }

  private void setUp(Maker wanted)
      throws KernelException,
          Launch.SetupException,
          Launch.MakerLostException,
          InterruptedException {
    Deadline deadline = Deadline.in(host.createDeadline());
    uid = host.uids().lend();
    var entries = new ArrayList<Ledger.Entry>();
    if (!host.uids().isShared()) {
      entries.add(new Ledger.Entry(Kind.USER, Integer.toString(uid)));
    }
    for (Path path : enclosure.paths()) {
      entries.add(new Ledger.Entry(Kind.CGROUP, path.toString()));
    }
    Ledger ledger = host.instance().ledger();
    entries.addFirst(new Ledger.Entry(Kind.DIRECTORY, logs.path().toString()));
    Step.HOLD_BOX.reach();
    holdings.addAll(ledger.hold(id.value(), entries));
    logsHolding = holdings.removeFirst();
    enclosure.create(spec.limits().cgroup(), uid);
    Step.WATCH_OOM.reach();
    oomWatch.open(scope, host.poller());
    // KERNEL: with nsdelegate init could not clone into a leaf, which lies outside its namespace.
    var sandbox = spec.sandbox(!host.hierarchies().namespacesBound());
    if (enclosure.paths().isEmpty()) {
      // Nothing else would lead the next runtime to it, should this one die in the middle.
      beginning = ledger.hold(id.value(), Kind.PROCESS, Session.toBegin().toString());
      holdings.add(beginning);
    }
    if (!isBorn(wanted, sandbox, deadline)) {
      host.makers()
          .bubblewrap()
          .launch(scope, id.value(), sandbox, enclosure.placement(), uid, this::launched);
      requireNonNull(launch).await(deadline);
      maker = Maker.BWRAP;
    }
    settle(requireNonNull(launch));
    strikeOutside();
    openEgress(spec.network().policy());
    Step.CALL_RUNNING.reach();
    lifecycle.become(BoxState.RUNNING);
    watchOver(launch.channel());
  }

  /** A box without a policy has no way out, and need not ask for one. */
  private void openEgress(EgressPolicy policy) throws KernelException, InterruptedException {
    if (!policy.isEmpty()) {
      takeEgress(policy);
    }
  }

  private void takeEgress(EgressPolicy policy) throws KernelException, InterruptedException {
    Fd listener = requireNonNull(channel).listen(Egress.PORT, Deadline.in(LISTEN_BOUND));
    Step.OPEN_EGRESS.reach();
    egress =
        host.egress().open(scope, id.value(), listener, policy, () -> state() == BoxState.PAUSED);
  }

  private boolean isBorn(Maker wanted, SandboxSpec sandbox, Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    return (wanted == Maker.ZYGOTE
            && isBornOf(Maker.ZYGOTE, host.makers().zygote(host, sandbox), sandbox, deadline))
        || (wanted != Maker.BWRAP
            && isBornOf(Maker.NURSERY, host.makers().nursery(host, sandbox), sandbox, deadline));
  }

  /** False: there is none for it, or it died over it and left nothing. */
  private boolean isBornOf(
      Maker kind, Optional<Nursery> nursery, SandboxSpec sandbox, Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    if (nursery.isEmpty()) {
      return false;
    }
    Scope attempt = Scope.in(scope);
    try {
      nursery
          .get()
          .launch(attempt, id.value(), sandbox, enclosure.placement(), uid, this::launched);
      requireNonNull(launch).await(deadline);
      maker = kind;
      return true;
    } catch (Launch.MakerLostException e) {
      host.makers().lost(host, nursery.get(), String.valueOf(e.getMessage()));
      endAttempt(attempt);
      return false;
    }
  }

  private void endAttempt(Scope attempt) throws KernelException, InterruptedException {
    var account = new Account();
    endProcesses(account);
    if (!account.isClean()) {
      throw new KernelException("end what was begun of box " + id, Errno.EBUSY);
    }
    enclosure.renew();
    scope.release(attempt);
    launch = null;
    channel = null;
  }

  private void watchOver(InitChannel up) {
    up.whenClosed(() -> lifecycle.tryBecome(BoxState.LOST));
  }

  /** Written down so that the next runtime can end it, should this one die right now. */
  private void launched(Launch begun) throws KernelException {
    launch = begun;
    channel = begun.channel();
    if (begun.outside().isEmpty()) {
      enclosure.begun(Session.toBegin());
      return;
    }
    var ref = ProcessRef.of(begun.outside().get().pid());
    if (ref.isPresent()) {
      Step.HOLD_OUTSIDE.reach();
      outsideHolding =
          host.instance().ledger().hold(id.value(), Kind.PROCESS, ref.get().toString());
      holdings.add(outsideHolding);
      enclosure.begun(ref.get());
    }
  }

  private void settle(Launch up) throws KernelException {
    var toFind = enclosure.settled(up.channel().init().orElseThrow());
    if (toFind.isPresent()) {
      holdings.add(
          host.instance().ledger().hold(id.value(), Kind.PROCESS, toFind.get().toString()));
    }
  }

  /** It was reaped. */
  private void strikeOutside() throws KernelException {
    Step.STRIKE_OUTSIDE.reach();
    var gone = Stream.of(beginning, outsideHolding).filter(Objects::nonNull).toList();
    host.instance().ledger().strike(gone);
    holdings.removeAll(gone);
  }

  private SandboxException unwind(Throwable failure, Consumer<Box> unfinished) {
    Certificate left = release();
    if (!left.isClean()) {
      unfinished.accept(this);
    }
    String cleanup = left.isClean() ? "" : "; its clean-up failed too: " + left.stuck();
    return switch (failure) {
      case SandboxException e when left.isClean() -> e;
      case Launch.SetupException e when e.isForWantOfProcesses() ->
          SandboxException.later(
              ErrorCode.PRESSURE, e.getMessage() + cleanup, Duration.ofSeconds(1), Map.of());
      case Launch.SetupException e ->
          new SandboxException(ErrorCode.SETUP_FAILED, e.getMessage() + cleanup, e);
      case InterruptedException e -> {
        Thread.currentThread().interrupt();
        yield new SandboxException(
            ErrorCode.INTERRUPTED, "interrupted while making a box" + cleanup, e);
      }
      case KernelException e ->
          new SandboxException(
              ErrorCode.SETUP_FAILED, "cannot make a box: " + e.getMessage() + cleanup, e);
      default -> new SandboxException(ErrorCode.INTERNAL, failure + cleanup, failure);
    };
  }

  // --- made ahead ---

  /** What its init finds in it; empty when that does not answer in time. */
  public Optional<BoxContents> contents(Duration patience)
      throws KernelException, InterruptedException {
    return channel().count(Deadline.in(patience));
  }

  /** The same, and what came of a file that was placed right after. */
  public Optional<InitChannel.Counted> contentsBefore(FirstFile file, Duration patience)
      throws KernelException, InterruptedException {
    return channel().countAndPlace(file, Deadline.in(patience));
  }

  /** Gives it the limits and the way out of {@code wanted}, which it {@link BoxSpec#canBecome}. */
  public void specialise(BoxSpec wanted) throws KernelException, InterruptedException {
    if (!spec.canBecome(wanted)) {
      throw new IllegalArgumentException("box " + id + " cannot become " + wanted);
    }
    enclosure.limit(spec.limits().cgroup(), wanted.limits().cgroup());
    openEgress(wanted.network().policy());
    spec = wanted;
  }

  /** From now on {@code owner} hears of its state, of the one that it is in first. */
  public void handTo(Consumer<BoxState> owner) {
    lifecycle.handTo(owner);
  }

  // --- by init itself, without a process ---

  /** The entry of a new file in the workspace; empty: it cannot be made so. */
  public Optional<byte[]> place(FirstFile file, Duration patience)
      throws KernelException, InterruptedException {
    return channel().place(file, Deadline.in(patience));
  }

  /** The entries of the workspace; empty: they cannot be told so. */
  public Optional<byte[]> look(Duration patience) throws KernelException, InterruptedException {
    return channel().look(Deadline.in(patience));
  }

  // --- its network ---

  /**
   * Changes what it may reach. Commands that run go on; their connections to what is not allowed
   * any more are cut when this returns. Those started from now on have the variables for it.
   */
  public void changeNetwork(Network wanted) throws InterruptedException {
    releasing.lock();
    try {
      lifecycle.requireUp(id);
      if (!wanted.isOwn() || !spec.network().isOwn()) {
        throw new SandboxException(
            ErrorCode.BAD_REQUEST,
            "a box has the network of the host from its beginning, or never");
      }
      EgressPolicy before = spec.network().policy();
      applyPolicy(wanted.policy());
      try {
        noteNetwork(wanted);
      } catch (KernelException e) {
        applyPolicy(before);
        throw e;
      }
      spec = spec.withNetwork(wanted);
    } catch (KernelException e) {
      throw cannotChange(e);
    } finally {
      releasing.unlock();
    }
  }

  private void applyPolicy(EgressPolicy policy) throws KernelException, InterruptedException {
    BoxEgress open = egress;
    if (open == null) {
      openEgress(policy);
    } else {
      open.change(policy);
    }
  }

  private void noteNetwork(Network wanted) throws KernelException {
    if (detached) {
      Step.NOTE_NETWORK.reach();
      journal.append(BoxRecord.networkEntry(wanted));
    }
  }

  private SandboxException cannotChange(KernelException e) {
    ErrorCode code =
        switch (e.errno()) {
          case EADDRINUSE -> ErrorCode.CONFLICT;
          case EOPNOTSUPP -> ErrorCode.UNSUPPORTED;
          default -> ErrorCode.SETUP_FAILED;
        };
    return new SandboxException(
        code, "cannot change the network of box " + id + ": " + e.getMessage(), e);
  }

  // --- beyond the engine ---

  /**
   * Lets it outlive this engine, and be found by the next.
   *
   * @param endsAt when its init ends it by itself; empty: never
   * @param note what the next engine shall hand out with it
   */
  public void detach(Optional<Instant> endsAt, Map<String, String> note) {
    releasing.lock();
    try (var brief = new Scope()) {
      if (isToEnd) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "box " + id + " ends with its engine");
      }
      InitChannel up = channel();
      var left = endsAt.map(end -> Duration.between(Instant.now(), end));
      var record =
          new BoxRecord(
              spec, uid, BoxRecord.HexNonce.of(up.nonce()), ProcessRef.of(initPid()), endsAt, note);
      makeLogs();
      Step.HOLD_RECORD.reach();
      recordHolding =
          host.instance().ledger().hold(id.value(), Kind.RECORD, journal.path().toString());
      Step.WRITE_RECORD.reach();
      journal.append(record.entry());
      // ORDER: from here on it lives on without us, and whoever comes must know how to find it.
      up.detach(directory(brief), left.map(Box::atLeastAMoment).orElse(Duration.ZERO));
      Step.CALL_DETACHED.reach();
      detached = true;
      confirmDetached();
    } catch (KernelException e) {
      throw new SandboxException(
          ErrorCode.SETUP_FAILED, "cannot detach box " + id + ": " + e.getMessage(), e);
    } finally {
      releasing.unlock();
    }
  }

  /**
   * Writes down that init was told: until then the box is not detached, whatever its record says.
   */
  public void confirmDetached() throws KernelException {
    Step.CONFIRM_DETACHED.reach();
    journal.append(BoxRecord.detachedEntry());
  }

  /** Zero would be never. */
  private static Duration atLeastAMoment(Duration left) {
    return left.isPositive() ? left : Duration.ofMillis(1);
  }

  private Fd directory(Scope brief) throws KernelException {
    return Fd.open(brief, logs.path(), Fd.Flag.READ, Fd.Flag.DIRECTORY);
  }

  /** How it ended, if another engine saw it. */
  public Optional<BoxEnd> end() {
    return Optional.ofNullable(end);
  }

  /** It outlives this engine. */
  public boolean isDetached() {
    return detached;
  }

  /** Of one that was adopted: from now on {@code listener} hears of each change of its state. */
  public BoxState listen(Consumer<BoxState> listener) {
    return lifecycle.listen(listener);
  }

  /** Takes up the execs of a box that another engine made, before anything is heard of them. */
  public interface Heir {
    void inherit(Box box, List<JournalEntry> entries) throws KernelException, IOException;
  }

  /**
   * Finds a box again that another engine had detached: running, or paused, or dead.
   *
   * @param holdings what the ledger lists for it
   * @param patience for its init to answer, or to be seen dead
   * @param callOff somebody wants its end instead
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
    Deadline deadline = Deadline.in(patience);
    Journal.Contents contents = host.instance().logs(id.value()).record().contents();
    List<JournalEntry> entries = contents.entries();
    Optional<BoxEnd> end = BoxEnd.find(id, entries);
    boolean isGone = end.isPresent();
    Enclosure enclosure = host.enclosure(id, holdings);
    Optional<ProcessRef> init =
        isGone ? Optional.empty() : findInit(enclosure, record.init(), holdings);
    BoxState found = isGone ? BoxState.GONE : BoxState.LOST;
    if (init.isPresent()) {
      found = enclosure.isFrozen() ? BoxState.PAUSED : BoxState.RUNNING;
    }
    BoxSpec spec = record.spec();
    var box =
        new Box(
            host,
            id,
            BoxRecord.network(entries).map(spec::withNetwork).orElse(spec),
            enclosure,
            BoxLifecycle.found(found));
    box.takeOver(Optional.of(record), holdings);
    box.execs.accumulateAndGet(contents.highest(), Math::max);
    if (isGone) {
      box.end = end.get();
      box.certificate = end.get().certificate();
    }
    try {
      boolean hears = init.isPresent() && box.reach(init.get(), record, deadline, callOff);
      Step.INHERIT_EXECS.reach();
      heir.inherit(box, entries);
      if (hears) {
        box.greet(init.get(), deadline, callOff);
        box.resumeEgress(record.spec().network(), entries);
      }
      if (callOff.isCalled()) {
        throw new KernelException("adopt box " + id + ", somebody ends it", Errno.EBUSY);
      }
      return box;
    } catch (KernelException | IOException | InterruptedException | RuntimeException e) {
      // Without its lock: no other thread can want it yet, and the caller may hold the lock of the
      // object that this one replaces.
      box.letGo();
      throw e;
    }
  }

  /**
   * One that another engine had detached, and that could not be adopted. It is left alone, and can
   * be ended.
   *
   * @param record empty: nobody can read it
   */
  public static Box unreachable(
      BoxHost host, BoxId id, Optional<BoxRecord> record, List<Holding> holdings)
      throws KernelException {
    var box =
        new Box(
            host,
            id,
            record.map(BoxRecord::spec).orElseGet(BoxSpec::defaults),
            host.enclosure(id, holdings),
            BoxLifecycle.found(BoxState.UNREACHABLE));
    box.takeOver(record, holdings);
    Optional<ProcessRef> init = findInit(box.enclosure, record.flatMap(BoxRecord::init), holdings);
    if (init.isPresent()) {
      box.know(init.get());
    }
    return box;
  }

  /** Without cgroups nothing else leads to its processes. */
  private void know(ProcessRef init) throws KernelException {
    try {
      enclosure.known(open(init));
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH)) {
        throw e;
      }
    }
  }

  private Pidfd open(ProcessRef process) throws KernelException {
    Pidfd pidfd = Pidfd.open(scope, process.pid());
    // RACE: the number may have been reused before the pidfd was opened, not after.
    if (!process.isAlive()) {
      throw new KernelException("find the init of box " + id, Errno.ESRCH);
    }
    return pidfd;
  }

  /** Adopts a box, unless that is called off. */
  public interface Adoption {
    Optional<Box> adopt(CallOff callOff) throws InterruptedException;
  }

  /**
   * Tries again to adopt one that could not be reached; if that succeeds, this object is done with.
   * Empty when it fails again, or its end has begun.
   */
  public Optional<Box> handOver(Adoption adoption) throws InterruptedException {
    releasing.lock();
    try {
      if (state() != BoxState.UNREACHABLE) {
        return Optional.empty();
      }
      Optional<Box> heir = adoption.adopt(ending);
      if (heir.isPresent()) {
        // Of this object only: the box goes on.
        lifecycle.listen(_ -> {});
        lifecycle.become(BoxState.GONE);
        leave();
      }
      return heir;
    } finally {
      releasing.unlock();
    }
  }

  /** By its pid and start time, wherever they are still known; or by its cgroup. */
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

  private void takeOver(Optional<BoxRecord> record, List<Holding> listed) throws KernelException {
    for (Holding holding : listed) {
      switch (holding.kind()) {
        case DIRECTORY -> {
          logsHolding = holding;
          hasLogs = true;
        }
        case RECORD -> {
          recordHolding = holding;
          detached = true;
        }
        case USER -> {
          holdings.add(holding);
          uid = Integer.parseInt(holding.subject());
          host.uids().take(uid);
        }
        default -> holdings.add(holding);
      }
    }
    if (uid < 0 && host.uids().isShared() && state() != BoxState.GONE) {
      uid = record.isPresent() ? record.get().uid() : host.uids().lend();
    }
    hasLane =
        listed.stream()
            .map(Holding::subject)
            .anyMatch(
                subject ->
                    enclosure.lanePaths().stream().anyMatch(p -> p.toString().equals(subject)));
    execs.set(Math.max(logs.lastExec(), enclosure.lastLeaf()));
    enclosure.findLeaves();
  }

  /** False when nobody listens: its init is dying, and it is lost. */
  private boolean reach(ProcessRef init, BoxRecord record, Deadline deadline, CallOff callOff)
      throws KernelException {
    try (var brief = new Scope()) {
      Step.OPEN_INIT.reach();
      Pidfd pidfd = open(init);
      foundInit = init;
      enclosure.known(pidfd);
      if (hasLane) {
        // Its engine may have died in the middle of an operator's start.
        enclosure.moveInit(init.pid(), false);
      }
      oomWatch.open(scope, host.poller());
      channel =
          InitChannel.reconnect(
              scope,
              host.poller(),
              host.discards()::discard,
              directory(brief),
              record.nonce().bytes(),
              pidfd);
      return true;
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH) && !e.is(Errno.ECONNREFUSED) && !e.is(Errno.ENOENT)) {
        throw e;
      }
      requireDead(init, deadline, callOff);
      lifecycle.become(BoxState.LOST);
      return false;
    }
  }

  private void greet(ProcessRef init, Deadline deadline, CallOff callOff)
      throws KernelException, InterruptedException {
    InitChannel up = requireNonNull(channel);
    if (!up.greet(deadline, callOff)) {
      requireDead(init, deadline, callOff);
      lifecycle.become(BoxState.LOST);
    }
    // ORDER: no number of before is given again, not even one that only init still remembers.
    execs.accumulateAndGet(up.highestKnown(), Math::max);
    watchOver(up);
  }

  /**
   * Goes on with the way out that it was given once: init listens for good, and whoever calls while
   * nothing is allowed is to be told so, not to wait.
   */
  private void resumeEgress(Network first, List<JournalEntry> entries)
      throws KernelException, InterruptedException {
    if (state().isAlive() && BoxRecord.hadWayOut(first, entries)) {
      takeEgress(spec.network().policy());
    }
  }

  /** One that lives and does not answer is not ours to end: it may be late, or too new for us. */
  private void requireDead(ProcessRef init, Deadline deadline, CallOff callOff)
      throws KernelException {
    deadline.until(
        RETRY,
        () -> !init.isAlive() || callOff.isCalled() || Thread.currentThread().isInterrupted());
    if (init.isAlive()) {
      throw new KernelException("hear from the init of box " + id + ", " + init, Errno.EBUSY);
    }
  }

  /**
   * Lets go of it if it is detached. RACE: a box that is not detached by now never will be. A
   * concurrent detach fails, or it came first and the box lives on.
   */
  public boolean leaveIfDetached() {
    releasing.lock();
    try {
      isToEnd = !detached;
      if (detached) {
        letGo();
      }
      return detached;
    } finally {
      releasing.unlock();
    }
  }

  /** Lets go of a detached box, which goes on; of this object nothing can be had any more. */
  public void leave() {
    releasing.lock();
    try {
      letGo();
    } finally {
      releasing.unlock();
    }
  }

  private void letGo() {
    try {
      InitChannel up = channel;
      Step.LEAVE.reach();
      if (up != null) {
        up.leave();
      }
      host.scope().release(scope);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  public BoxId id() {
    return id;
  }

  public BoxSpec spec() {
    return spec;
  }

  public BoxState state() {
    return lifecycle.state();
  }

  /** It died by itself, whatever became of it since. */
  public boolean wasLost() {
    return lifecycle.wasLost();
  }

  public Enclosure enclosure() {
    return enclosure;
  }

  /** What its commands wrote. */
  public LogDirectory logs() {
    return logs;
  }

  /** Where its init listens for the next engine; empty: nowhere. */
  public Optional<Path> controlSocket() {
    return Optional.of(logs.control())
        .filter(socket -> Files.exists(socket, LinkOption.NOFOLLOW_LINKS));
  }

  /** There is a directory for them: only what needs one makes it. */
  public boolean hasLogs() {
    return hasLogs;
  }

  /** Makes the directory, unless it is there, or the end of the box has begun. */
  public void makeLogs() throws KernelException {
    lifecycle.ifUp(
        () -> {
          if (!hasLogs) {
            Step.MAKE_LOGS.reach();
            logs.create();
            hasLogs = true;
          }
        });
  }

  /** What the next engine is told of it, if it is detached. */
  public Journal journal() {
    return journal;
  }

  /** The host uid everything in the box runs as. */
  public int uid() {
    return uid;
  }

  public Scope scope() {
    return scope;
  }

  public BoxHost host() {
    return host;
  }

  /**
   * Tells {@code listener} how many the OOM killer has taken of this box, whenever it takes one.
   */
  public void whenOutOfMemory(LongConsumer listener) {
    oomWatch.add(listener);
  }

  public void forget(LongConsumer listener) {
    oomWatch.remove(listener);
  }

  public int nextExec() {
    return execs.incrementAndGet();
  }

  /** Who made it; empty when another engine knows. */
  public Optional<Maker> maker() {
    return Optional.ofNullable(maker);
  }

  /** What its release came to, so far; there before its state says so. */
  public Optional<Certificate> certificate() {
    return Optional.ofNullable(certificate);
  }

  /** The line to init. */
  public InitChannel channel() {
    lifecycle.requireUp(id);
    return requireNonNull(channel);
  }

  /**
   * Hears all that init, and any other process, has said until now.
   *
   * @return false when that took too long
   */
  public boolean hearOut() throws InterruptedException {
    return host.poller().catchUp(Deadline.in(HEAR_BOUND));
  }

  /** A command can be started in it. */
  public void requireRunning() {
    lifecycle.requireRunning(id);
  }

  /**
   * Freezes its commands; one that is paused already stays so.
   *
   * <p>RACE: a command that is frozen before it runs would keep whoever starts it waiting. Each is
   * started before this, or is refused after it.
   */
  public void pause() {
    starting.writeLock().lock();
    try {
      awaitStarts(Deadline.in(START_BOUND));
      freeze(BoxState.PAUSED, true);
    } catch (KernelException e) {
      throw cannotPause(e);
    } finally {
      starting.writeLock().unlock();
    }
  }

  /** Lets them go on. */
  public void resume() {
    freeze(BoxState.RUNNING, false);
  }

  private void freeze(BoxState next, boolean frozen) {
    if (!enclosure.canFreeze()) {
      throw new SandboxException(
          ErrorCode.UNSUPPORTED, "a box can be paused only where there are cgroups: ebb doctor");
    }
    releasing.lock();
    try {
      lifecycle.requireUp(id);
      if (state() != next) {
        enclosure.freeze(frozen, Deadline.in(FREEZE_BOUND));
        lifecycle.become(next);
      }
    } catch (KernelException e) {
      throw cannotPause(e);
    } finally {
      releasing.unlock();
    }
  }

  private SandboxException cannotPause(KernelException e) {
    return new SandboxException(
        ErrorCode.SETUP_FAILED, "cannot pause box " + id + ": " + e.getMessage(), e);
  }

  /**
   * Makes the place of one exec; empty where there is none.
   *
   * <p>RACE: one made under the release of the box would be where all is said to be gone.
   */
  public Optional<Path> createLeaf(int exec) throws KernelException {
    return lifecycle.whileRunning(id, () -> enclosure.createLeaf(exec, uid));
  }

  /** The host pid of its pid 1. */
  public int initPid() {
    return channel().init().orElseThrow().pid();
  }

  /** What the runtime has open for it. */
  public List<String> descriptors() {
    return scope.contents();
  }

  /** Shared by all starts, exclusive for an operator's: meanwhile init is elsewhere. */
  public OrderedReadWriteLock starting() {
    return starting;
  }

  /** A start that init was told of, and has not answered. */
  public void startPending(boolean isPending) {
    pendingStarts.addAndGet(isPending ? 1 : -1);
  }

  /**
   * Makes the place of an operator's exec and takes init there; to be followed by {@link
   * #leaveLane}. The caller holds {@link #starting} alone.
   */
  public Optional<Path> enterLane(int exec) throws KernelException {
    // ORDER: whatever init was told to start before is born where it belongs.
    awaitStarts(Deadline.in(START_BOUND));
    return lifecycle.whileRunning(
        id,
        () -> {
          holdLane();
          Optional<Path> leaf = enclosure.createLane(exec, uid);
          Step.ENTER_LANE.reach();
          enclosure.moveInit(initPid(), true);
          return leaf;
        });
  }

  /** Until init has answered for all it was told to start; the caller keeps others out. */
  private void awaitStarts(Deadline deadline) throws KernelException {
    if (!deadline.until(RETRY, () -> pendingStarts.get() == 0)) {
      throw new KernelException("hear from the init of box " + id, Errno.EAGAIN);
    }
  }

  private void holdLane() throws KernelException {
    if (!hasLane) {
      var entries =
          enclosure.lanePaths().stream()
              .map(path -> new Ledger.Entry(Kind.CGROUP, path.toString()))
              .toList();
      Step.HOLD_LANE.reach();
      holdings.addAll(host.instance().ledger().hold(id.value(), entries));
      hasLane = true;
    }
  }

  /**
   * Takes init back, unless the box has ended and taken it along.
   *
   * <p>RACE: a pid is only a number. Init is reaped, and its number free, only after the end began.
   */
  public void leaveLane() throws KernelException {
    try {
      takeInitBack();
    } catch (KernelException e) {
      // Where it is, everything it starts is born.
      LOG.log(Level.WARNING, "event=lane_not_left, trying again box=" + id, e);
      takeInitBack();
    }
  }

  private void takeInitBack() throws KernelException {
    lifecycle.ifUp(
        () -> {
          Step.LEAVE_LANE.reach();
          enclosure.moveInit(initPid(), false);
        });
  }

  /** Every process of the box, by its host pid. */
  public List<Integer> pids() {
    try {
      return enclosure.procs();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /**
   * Ends the box and proves it: whatever it held is given back, in reverse order, going on after
   * failures. Repeating it returns the same certificate, or tries again what was stuck.
   */
  public Certificate release() {
    return release(false, Map.of());
  }

  /** Like {@link #release}, but what its commands wrote stays readable until {@link #forget}. */
  public Certificate stop() {
    return stop(Map.of());
  }

  /** The same; {@code note} is what the next engine shall hand out with its end. */
  public Certificate stop(Map<String, String> note) {
    return release(true, note);
  }

  /**
   * Removes what a stopped box had left to read. What cannot be removed makes it stuck: then the
   * certificate names it, and a release tries again.
   */
  public Certificate forget() {
    releasing.lock();
    try {
      if (state() == BoxState.GONE) {
        isToForget = true;
        forgetOrKeep();
      } else if (state() != BoxState.STUCK) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "box " + id + " is " + state().word());
      }
      return proof();
    } finally {
      releasing.unlock();
    }
  }

  private void forgetOrKeep() {
    try {
      forgetLogs();
    } catch (KernelException | RuntimeException e) {
      certificate = proof().butStuck(Kind.DIRECTORY, logs.path().toString(), whyItStays(e));
      lifecycle.become(BoxState.STUCK);
    }
  }

  /** For people: also which mounts its directory may stay for. */
  private String whyItStays(Exception e) {
    String reason = String.valueOf(e.getMessage());
    try {
      List<Path> mounts = MountTable.below(logs.path());
      return mounts.isEmpty() ? reason : reason + "; Ebb did not mount " + mounts;
    } catch (KernelException unknown) {
      return reason;
    }
  }

  private Certificate proof() {
    Certificate seen = certificate;
    return seen == null ? new Account().certify(id) : seen;
  }

  private Certificate release(boolean keepsLogs, Map<String, String> note) {
    boolean interrupted = Thread.interrupted();
    // ORDER: whoever tries to adopt it has the lock, and need not wait for an answer any more.
    ending.call();
    releasing.lock();
    try {
      if (certificate == null || !certificate.isClean()) {
        lifecycle.become(BoxState.STOPPING);
        certificate = releaseNow(keepsLogs && !isToForget);
        if (certificate.isClean()) {
          noteEnd(new BoxEnd(Instant.now(), certificate, note));
        }
        lifecycle.become(certificate.isClean() ? BoxState.GONE : BoxState.STUCK);
      }
      return certificate;
    } finally {
      releasing.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void noteEnd(BoxEnd seen) {
    if (detached) {
      try {
        Step.NOTE_END.reach();
        journal.append(seen.entry());
      } catch (KernelException e) {
        LOG.log(Level.WARNING, "event=record_failed, ignoring: its processes are not there", e);
      }
    }
  }

  private Certificate releaseNow(boolean keepsLogs) {
    var account = new Account();
    attempt(account, Kind.DESCRIPTOR, "egress of box " + id, this::closeEgress);
    // ORDER: whoever could still put a process into the cgroup ends before the cgroup is killed.
    attempt(account, Kind.PROCESS, "ebb-init outside", () -> endOutside(account));
    attempt(account, Kind.PROCESS, "of box " + id, () -> endProcesses(account));
    attempt(account, Kind.DESCRIPTOR, "of box " + id, () -> closeDescriptors(account));
    attempt(account, Kind.CGROUP, "of box " + id, () -> removeCgroups(account));
    if (!keepsLogs) {
      attempt(account, Kind.DIRECTORY, logs.path().toString(), () -> removeLogs(account));
    }
    attempt(account, Kind.USER, Integer.toString(uid), () -> strike(account));
    return account.certify(id);
  }

  private interface Attempt {
    void run() throws KernelException, InterruptedException;
  }

  private static void attempt(Account account, Kind kind, String subject, Attempt attempt) {
    try {
      attempt.run();
    } catch (KernelException | RuntimeException e) {
      account.stuck(kind, subject, String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      account.stuck(kind, subject, "interrupted");
    }
  }

  /** At once, whatever becomes of its processes. */
  private void closeEgress() throws KernelException {
    BoxEgress open = egress;
    egress = null;
    if (open != null) {
      scope.release(open);
    }
  }

  private void endOutside(Account account) throws KernelException, InterruptedException {
    if (launch == null || launch.isUp() || outsideGone || launch.outside().isEmpty()) {
      return;
    }
    Pidfd outside = launch.outside().get();
    account.held(Kind.PROCESS, 1);
    Step.END_OUTSIDE.reach();
    outside.signal(Signal.KILL);
    if (awaitDeath(outside)) {
      outsideGone = true;
      account.released(Kind.PROCESS, 1);
    } else {
      account.stuck(Kind.PROCESS, Integer.toString(outside.pid()), "outlived SIGKILL");
    }
  }

  /** ORDER: killed first, by every means; whether that could be looked at comes after. */
  private void endProcesses(Account account) throws KernelException, InterruptedException {
    if (!enclosure.exists()) {
      endInitElsewhere(account);
      return;
    }
    Deadline deadline = host.patience().death();
    var killing = new Killing(id, enclosure, host.patience());
    var members = new LinkedHashSet<>(killing.members());
    if (hasInit() && !enclosure.paths().isEmpty()) {
      host.strangers().lookAmong(members, id);
    }
    killing.killAll();
    if (launch != null && !launch.isUp()) {
      Launch begun = launch;
      killing.attempt(() -> learnInit(begun, deadline));
      members.addAll(killing.members());
      killing.killAll();
    }
    killing.attempt(this::killInit);
    account.held(Kind.PROCESS, members.size());
    Step.REAP_INIT.reach();
    boolean reaped = reapInit();
    Step.AWAIT_EMPTY.reach();
    if (!killing.awaitEmpty(deadline)) {
      List<Integer> left = enclosure.procs();
      if (!left.isEmpty()) {
        left.forEach(pid -> account.stuck(Kind.PROCESS, Integer.toString(pid), why(pid)));
        return;
      }
    }
    if (!reaped) {
      reapOrphans(members, deadline);
    }
    if (!reaped && isInitAlive()) {
      throw new KernelException("end the init of box " + id, Errno.EBUSY);
    }
    account.released(Kind.PROCESS, members.size());
  }

  /** Somebody may have moved it out of its cgroup, or removed that. */
  private void endInitElsewhere(Account account) throws KernelException, InterruptedException {
    if (isInitAlive()) {
      account.held(Kind.PROCESS, 1);
      if (!reapInit()) {
        throw new KernelException("end the init of box " + id, Errno.EBUSY);
      }
      account.released(Kind.PROCESS, 1);
    }
  }

  private boolean hasInit() {
    return !initGone && (launch == null ? channel != null : launch.isUp());
  }

  /** SAFETY: one that we started keeps its number until we reap it; one that we found has a ref. */
  private boolean isInitAlive() {
    if (!hasInit()) {
      return false;
    }
    int pid = requireNonNull(channel).init().orElseThrow().pid();
    return foundInit == null
        ? ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isPresent()
        : foundInit.isAlive();
  }

  /** ORDER: whoever could make init is dead or called off, but its last words may be unread. */
  private void learnInit(Launch begun, Deadline deadline)
      throws KernelException, InterruptedException {
    if (!begun.callOff(deadline)) {
      throw new KernelException("hear out who made the box", Errno.EBUSY);
    }
    begun.channel().init().ifPresent(enclosure::known);
  }

  private static String why(int pid) {
    return "outlived SIGKILL, " + StuckProcess.of(pid).describe();
  }

  /**
   * True when init came up and is gone now.
   *
   * <p>KERNEL: pid 1 of a namespace becomes reapable only after all its members were reaped.
   */
  private boolean reapInit() throws KernelException, InterruptedException {
    if (!hasInit()) {
      return false;
    }
    killInit();
    initGone = awaitDeath(requireNonNull(channel).init().orElseThrow());
    return initGone;
  }

  /** Also where it is not where it was. KERNEL: its death ends all of its pid namespace. */
  private void killInit() throws KernelException {
    if (!hasInit()) {
      return;
    }
    try {
      requireNonNull(channel).init().orElseThrow().signal(Signal.KILL);
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH) && !e.is(Errno.EBADF)) {
        throw e;
      }
    }
  }

  /**
   * KERNEL: "populated 0" comes before the zombies are gone; what fell out of the box is ours.
   *
   * <p>ORDER: members first. One that was dead when they were listed, or born after, is a child of
   * ours at the latest when its parent is gone.
   */
  private void reapOrphans(Set<Integer> members, Deadline deadline) throws KernelException {
    if (!deadline.until(RETRY, () -> isReaped(members))) {
      throw new KernelException("reap the processes of box " + id, Errno.EBUSY);
    }
  }

  private boolean isReaped(Set<Integer> members) throws KernelException {
    host.reaper().reap(enclosure::holds);
    return members.stream().noneMatch(enclosure::holds)
        && ProcFs.children().stream().noneMatch(enclosure::holds);
  }

  /** Waits for its death and reaps it; false when it outlived the bound. */
  private boolean awaitDeath(Pidfd process) throws KernelException, InterruptedException {
    try (var brief = new Scope()) {
      var dead = new Readiness(brief, host.poller(), process.fd(), Poller.Interest.READ);
      if (!host.patience().await(host.patience().death(), dead::awaitSurely)) {
        return false;
      }
      process.reap();
      return true;
    } catch (KernelException e) {
      if (e.is(Errno.ECHILD)) {
        return awaitReaped(process.pid());
      }
      throw e;
    }
  }

  /** No child of ours: whoever adopted it reaps it, or never does. */
  private boolean awaitReaped(int pid) {
    return Deadline.in(REAPED_BOUND)
        .until(RETRY, () -> ProcFs.stat(pid).isEmpty() || !enclosure.holds(pid));
  }

  private void closeDescriptors(Account account) throws KernelException {
    // ORDER: counted now, for the end of its commands has given back their input already.
    int count = scope.size();
    account.held(Kind.DESCRIPTOR, count);
    if (!account.isClean()) {
      // What is stuck is waited for again, by these.
      return;
    }
    Step.CLOSE_DESCRIPTORS.reach();
    host.scope().release(scope);
    account.released(Kind.DESCRIPTOR, count);
  }

  private void removeCgroups(Account account) throws KernelException {
    if (!account.isClean()) {
      presentCgroups()
          .forEach(path -> account.stuck(Kind.CGROUP, path.toString(), "kept with its processes"));
      return;
    }
    try {
      Step.REMOVE_CGROUPS.reach();
      int count = enclosure.remove();
      account.held(Kind.CGROUP, count);
      account.released(Kind.CGROUP, count);
    } catch (KernelException e) {
      account.held(Kind.CGROUP, (int) presentCgroups().count());
      throw e;
    }
  }

  private Stream<Path> presentCgroups() {
    return Stream.concat(enclosure.paths().stream(), enclosure.lanePaths().stream())
        .filter(path -> path.toFile().exists());
  }

  private void removeLogs(Account account) throws KernelException {
    int count = logsHolding != null && hasLogs ? 1 : 0;
    account.held(Kind.DIRECTORY, count);
    try {
      forgetLogs();
    } catch (KernelException e) {
      account.stuck(Kind.DIRECTORY, logs.path().toString(), whyItStays(e));
      return;
    }
    account.released(Kind.DIRECTORY, count);
  }

  private void forgetLogs() throws KernelException {
    releasing.lock();
    try {
      if (logsHolding != null) {
        Step.REMOVE_LOGS.reach();
        logs.remove();
        var gone = Stream.of(logsHolding, recordHolding).filter(Objects::nonNull).toList();
        Step.STRIKE_LOGS.reach();
        host.instance().ledger().strike(gone);
        logsHolding = null;
        hasLogs = false;
        recordHolding = null;
        detached = false;
      }
    } finally {
      releasing.unlock();
    }
  }

  private void strike(Account account) throws KernelException {
    if (uid < 0) {
      return;
    }
    int users = host.uids().isShared() ? 0 : 1;
    account.held(Kind.USER, users);
    if (!account.isClean()) {
      account.stuck(Kind.USER, Integer.toString(uid), "kept while something of it remains");
      return;
    }
    Step.STRIKE_BOX.reach();
    host.instance().ledger().strike(holdings);
    Step.RETURN_UID.reach();
    host.uids().giveBack(uid);
    uid = -1;
    account.released(Kind.USER, users);
  }
}
