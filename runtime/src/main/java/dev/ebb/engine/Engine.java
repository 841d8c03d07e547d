package dev.ebb.engine;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.CallOff;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.bubblewrap.Discards;
import dev.ebb.backend.bubblewrap.InitBinary;
import dev.ebb.backend.bubblewrap.Nursery;
import dev.ebb.backend.bubblewrap.Zygote;
import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.box.BoxId;
import dev.ebb.box.BoxRecord;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.BoxState;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.HostUids;
import dev.ebb.box.Makers;
import dev.ebb.box.Patience;
import dev.ebb.box.SandboxException;
import dev.ebb.box.Strangers;
import dev.ebb.box.ZygotePolicy;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.cgroup.Subtrees;
import dev.ebb.egress.Egress;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecResult;
import dev.ebb.exec.ExecSpec;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.OrderedReadWriteLock;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Certificate;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Kind;
import dev.ebb.ledger.Ledger;
import dev.ebb.pool.Fate;
import dev.ebb.pool.Interpreter;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import dev.ebb.process.ExitCause;
import dev.ebb.process.Privileges;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Reaper;
import dev.ebb.step.Step;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Home;
import dev.ebb.store.Instance;
import dev.ebb.store.Journal;
import dev.ebb.store.UidClaims;
import dev.ebb.store.UidRange;
import dev.ebb.supervision.Audit;
import dev.ebb.supervision.Purge;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.SideHomes;
import dev.ebb.supervision.Traces;
import dev.ebb.supervision.Why;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A running Ebb inside this process: one instance of its home, its boxes, and their end.
 *
 * <p>Closing it releases every box. Should the process be killed instead, its boxes die by
 * themselves and the next engine on the same home cleans up. Thread-safe.
 */
public final class Engine implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Engine.class.getName());
  static final List<Path> BWRAP =
      List.of(Path.of("/usr/bin/bwrap"), Path.of("/usr/local/bin/bwrap"), Path.of("/bin/bwrap"));

  private static final Duration CREATE_DEADLINE = Duration.ofSeconds(30);

  /** How long what a dead runtime left may keep the next one from its work. */
  private static final Duration AT_START = Duration.ofSeconds(2);

  private static final Duration AT_SWEEP = Duration.ofSeconds(10);

  /** How long the init of a detached box may take to answer, before its engine goes on without. */
  private static final Duration FIRST_WORD = Duration.ofSeconds(2);

  /** The same for one that is tried again, which nobody waits for. */
  private static final Duration NEXT_WORD = Duration.ofSeconds(10);

  private static final Duration ORPHAN_PATIENCE = Duration.ofSeconds(5);

  private final Scope scope;
  private final Home home;
  private final BoxHost host;
  private final List<Holding> holdings = new ArrayList<>();
  private final List<Recovery.Finding> recovered;
  private final Set<Box> boxes = ConcurrentHashMap.newKeySet();

  /** Of these, those that could be neither made nor unwound. */
  private final Set<Box> unfinished = ConcurrentHashMap.newKeySet();

  /** Those that have lines on the ledger, and are no boxes yet. */
  private final Set<String> inMaking = ConcurrentHashMap.newKeySet();

  private final Retries retries = new Retries(this::releaseAgain);

  private final OrderedLock auditing = new OrderedLock(LockOrder.ENGINE_AUDIT);

  /** Under {@code auditing} only: else the audit would see a box of which half is removed. */
  private final Outdated outdated;

  /** The cgroup this process moved into, below the one it was in, if it had to. */
  private @Nullable Path movedTo;

  /** Shared by creates, exclusive for the close: no box is made behind its back. */
  private final OrderedReadWriteLock making = new OrderedReadWriteLock(LockOrder.ENGINE_MAKING);

  @GuardedBy("making")
  private boolean closed;

  private Engine(Scope scope, Home home, BoxHost host, List<Recovery.Finding> recovered) {
    this.scope = scope;
    this.home = home;
    this.host = host;
    this.recovered = List.copyOf(recovered);
    outdated = new Outdated(host.instance());
  }

  /** The default home, which need not exist. */
  public static Path defaultHome() {
    return Home.locate(System.getenv());
  }

  /** Opens the default home: {@code EBB_HOME}, or /var/lib/ebb. */
  public static Engine open() {
    return open(Home.locate(System.getenv()));
  }

  /** Opens an engine on {@code path} after releasing what dead ones left there. */
  public static Engine open(Path path) {
    return open(path, Role.GUEST);
  }

  /** Opens the default home for a process that is Ebb's own, and may be moved between cgroups. */
  public static Engine openForProcess() {
    return openForProcess(Home.locate(System.getenv()));
  }

  /** The same on {@code path}. */
  public static Engine openForProcess(Path path) {
    return open(path, Role.PROCESS);
  }

  /** The default home, made if it was missing, and refused if it is not ours alone. */
  public static Path prepareHome() {
    return prepareHome(defaultHome());
  }

  /** The same of {@code path}. */
  public static Path prepareHome(Path path) {
    try {
      return Home.open(path).path();
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot use Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /**
   * The same for the daemon of {@code path}, which takes over what the last one left: what was
   * attached is released, what was detached waits for {@link #adopt}.
   */
  public static Engine openForDaemon(Path path) {
    return open(path, Role.DAEMON);
  }

  private enum Role {
    GUEST,
    PROCESS,
    DAEMON
  }

  private static Engine open(Path path, Role role) {
    var building = new Scope();
    try {
      return build(building, path, role);
    } catch (KernelException | IOException | RuntimeException e) {
      try {
        building.close();
      } catch (KernelException suppressed) {
        e.addSuppressed(suppressed);
      }
      if (e instanceof SandboxException sandbox) {
        throw sandbox;
      }
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot open Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /** What a file system exception says of itself is but a path. */
  private static String reason(Exception e) {
    return e instanceof AccessDeniedException denied
        ? denied.getFile() + " cannot be written; set EBB_HOME to a directory of your own"
        : String.valueOf(e.getMessage());
  }

  private static Engine build(Scope scope, Path path, Role role)
      throws KernelException, IOException {
    Hierarchies hierarchies = Hierarchies.detect(role != Role.GUEST);
    Path bwrap = bwrap(BWRAP);
    Self.becomeSubreaper();
    Home home = Home.open(path);
    InitBinary binary = InitBinary.stage(scope, home.lib());
    var reaper = new Reaper(ProcessClock.instants(), ORPHAN_PATIENCE);
    Poller poller = Poller.start(scope, "ebb-poller", ORPHAN_PATIENCE, reaper::reapStrangers);
    EmptyWait emptyWait = EmptyWait.on(poller);
    var removal = new CgroupRemoval(emptyWait);
    var recovery = new Recovery(home, emptyWait, removal, AT_START);
    var recovered = new ArrayList<>(recovery.recover(false));
    if (role == Role.DAEMON) {
      recovered.addAll(recovery.recoverLost(false));
    }
    Instance instance = instance(scope, home, role);
    mendLedger(instance, home);
    recovered.addAll(releaseAttached(instance, recovery));
    var host =
        new BoxHost(
            scope,
            instance,
            hierarchies,
            poller,
            emptyWait,
            removal,
            new Makers(new Bubblewrap(poller, binary, bwrap), nurseryOf(role)),
            new Discards(poller, binary),
            HostUids.of(instance.uid()),
            reaper,
            new Egress(),
            new Patience(),
            new Strangers(),
            CREATE_DEADLINE);
    // What is left of others is not lent again, whatever becomes of it.
    instance.ledger().holdings().stream()
        .filter(held -> held.kind() == Kind.USER)
        .forEach(held -> host.uids().take(Integer.parseInt(held.subject())));
    var engine = new Engine(scope, home, host, recovered);
    try {
      engine.createSubtree();
    } catch (KernelException | IOException | RuntimeException e) {
      engine.close();
      throw e;
    }
    return engine;
  }

  private static Instance instance(Scope scope, Home home, Role role)
      throws KernelException, IOException {
    UidRange uids = HostUids.range(Privileges.ofThisProcess());
    if (role == Role.DAEMON && !uids.equals(UidRange.NONE) && !UidClaims.arePossible()) {
      LOG.log(Level.WARNING, "event=uids_not_claimed reason=\"/run cannot be written\"");
    }
    String self = ProcessRef.self().toString();
    try {
      return role == Role.DAEMON
          ? home.createForDaemon(scope, self, uids, id -> hasTraces(home, id))
          : home.create(scope, self, uids);
    } catch (KernelException e) {
      if (e.is(Errno.EUSERS)) {
        throw new SandboxException(
            ErrorCode.NO_USERS_LEFT, "too many runtimes share this host: " + e.getMessage(), e);
      }
      throw e;
    }
  }

  private static Makers.Policy nurseryOf(Role role) {
    return (role == Role.DAEMON ? Makers.Policy.ALWAYS : Makers.Policy.FROM_THE_SECOND_BOX)
        .orOverride();
  }

  private static boolean hasTraces(Home home, String instance) {
    try {
      return Traces.look(home).has(instance);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Lists what an instance that was taken over has on the host, should its ledger be damaged. */
  private static void mendLedger(Instance instance, Home home) throws KernelException, IOException {
    if (!instance.resumed()) {
      return;
    }
    Ledger ledger = instance.ledger();
    var unlisted =
        Traces.look(home).unlisted(instance.id(), instance.directory(), ledger.holdings());
    for (var each : unlisted.entrySet()) {
      ledger.hold(each.getKey(), each.getValue());
      LOG.log(
          Level.WARNING,
          "event=ledger_mended instance={0} box={1} found={2}",
          instance.id(),
          each.getKey(),
          each.getValue());
    }
  }

  /** Of an instance that was taken over: all but the detached boxes, and what they lie in. */
  private static List<Recovery.Finding> releaseAttached(Instance instance, Recovery recovery)
      throws KernelException {
    Ledger ledger = instance.ledger();
    var left = new DeadInstance(instance.id(), instance.directory(), true, ledger.holdings());
    var boxes = new LinkedHashSet<String>();
    left.holdings().forEach(held -> boxes.add(held.box()));
    boxes.remove("");
    boxes.removeAll(left.detached());
    var findings = new ArrayList<Recovery.Finding>();
    for (String box : boxes) {
      findings.addAll(release(left.only(held -> held.box().equals(box)), ledger, recovery));
    }
    return findings;
  }

  /** Of one box: what is stuck keeps all its lines, its uid among them. */
  private static List<Recovery.Finding> release(DeadInstance box, Ledger ledger, Recovery recovery)
      throws KernelException {
    var findings = recovery.release(box, false);
    if (findings.stream().noneMatch(each -> each.fate() instanceof Recovery.Fate.Stuck)) {
      Step.STRIKE_ATTACHED.reach();
      ledger.strike(box.holdings());
    }
    return findings;
  }

  /** The instance's own directory in each hierarchy; boxes lie below. */
  private void createSubtree() throws KernelException, IOException {
    String id = host.instance().id();
    var paths = new ArrayList<>(host.hierarchies().everywhere(id));
    Optional<Path> ours = host.hierarchies().leafOfOurs(id);
    ours.ifPresent(paths::add);
    Ledger ledger = host.instance().ledger();
    ledger.holdings().stream().filter(held -> held.box().isEmpty()).forEach(holdings::add);
    var entries =
        paths.stream()
            .map(path -> new Ledger.Entry(Kind.CGROUP, path.toString()))
            .filter(entry -> holdings.stream().noneMatch(held -> isSame(held, entry)))
            .toList();
    Step.HOLD_SUBTREE.reach();
    holdings.addAll(ledger.hold("", entries));
    for (Path each : paths) {
      if (!host.instance().resumed() || Files.notExists(each)) {
        Step.MAKE_SUBTREE.reach();
        Cgroup.create(each);
      }
    }
    paths.forEach(this::mark);
    if (ours.isPresent()) {
      new Cgroup(ours.get()).enter();
      movedTo = ours.get();
    }
    host.hierarchies().delegate(id);
  }

  /** So that this home knows it, should every file about it be lost. */
  private void mark(Path cgroup) {
    try {
      Subtrees.mark(cgroup, home.identity());
    } catch (IOException e) {
      // Its claim of uids tells the same, where there is one.
      LOG.log(Level.INFO, "event=cgroup_not_marked path={0} reason=\"{1}\" ignoring", cgroup, e);
    }
  }

  private static boolean isSame(Holding held, Ledger.Entry entry) {
    return held.kind() == entry.kind() && held.subject().equals(entry.subject());
  }

  /**
   * A box that the last daemon had detached, and its commands, ended ones too.
   *
   * @param record empty: nobody can read it
   */
  public record Adopted(Box box, Optional<BoxRecord> record, List<Exec> execs) {
    public Adopted {
      execs = List.copyOf(execs);
    }
  }

  /** Takes over every detached box of the last daemon, however long ago it ended. */
  public List<Adopted> adopt() throws InterruptedException {
    return adopt(History.ALL);
  }

  /**
   * Takes over the detached boxes of the last daemon; once, before any box is made.
   *
   * @param history what ended and is not part of it waits for {@link #forgetOutdated}
   * @return those that are there: alive, dead, or unreachable
   */
  public List<Adopted> adopt(History history) throws InterruptedException {
    var byBox = new LinkedHashMap<String, List<Holding>>();
    for (Holding held : holdings()) {
      byBox.computeIfAbsent(held.box(), _ -> new ArrayList<>()).add(held);
    }
    byBox.values().removeIf(held -> held.stream().noneMatch(each -> each.kind() == Kind.RECORD));
    takeOutdated(byBox, history);
    // One that does not answer keeps no other waiting, nor this engine for long.
    return Together.each(
        byBox.entrySet(),
        listed -> {
          var id = new BoxId(listed.getKey());
          return adopt(id, listed.getValue(), FIRST_WORD, new CallOff())
              .or(() -> leaveAlone(id, listed.getValue()))
              .filter(this::isWhole);
        });
  }

  /** False: the last engine died before it was detached. What there was of it is gone. */
  private boolean isWhole(Adopted adopted) {
    Box box = adopted.box();
    if (box.state() == BoxState.UNREACHABLE || box.state() == BoxState.GONE) {
      return true;
    }
    try {
      if (BoxRecord.isConfirmed(box.journal().read())) {
        return true;
      }
      if (box.state() != BoxState.LOST) {
        box.confirmDetached();
        return true;
      }
    } catch (KernelException | IOException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + box.id() + " ignoring", e);
      return true;
    }
    boolean isGone = release(box).isClean();
    LOG.log(Level.WARNING, "event=box_unmade box={0} reason=\"never detached\"", box.id());
    return !isGone;
  }

  private void takeOutdated(Map<String, List<Holding>> boxes, History history) {
    auditing.lock();
    try {
      outdated.takeFrom(boxes, history);
    } finally {
      auditing.unlock();
    }
  }

  /** Removes up to {@code most} of those that {@link #adopt(History)} left for that. */
  public void forgetOutdated(int most) {
    var _ =
        whileOpen(
            () -> {
              outdated.remove(most);
              return List.of();
            });
  }

  /** Tries again what could not be reached; empty when it still cannot, or is being ended. */
  public Optional<Adopted> adoptAgain(Box unreachable) throws InterruptedException {
    // RACE: one that is adopted behind the back of the close would be taken for lost, and ended.
    making.readLock().lock();
    try {
      return closed ? Optional.empty() : adoptNow(unreachable);
    } finally {
      making.readLock().unlock();
    }
  }

  private Optional<Adopted> adoptNow(Box unreachable) throws InterruptedException {
    var found = new ArrayList<Adopted>();
    BoxId id = unreachable.id();
    Optional<Box> heir =
        unreachable.handOver(
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
    return holdings().stream().filter(held -> held.box().equals(id.value())).toList();
  }

  private Optional<Adopted> adopt(
      BoxId id, List<Holding> listed, Duration patience, CallOff callOff)
      throws InterruptedException {
    var execs = new ArrayList<Exec>();
    try {
      Step.READ_RECORD.reach();
      BoxRecord record = BoxRecord.read(host.instance().logs(id.value()));
      Box box =
          Box.adopt(
              host,
              id,
              record,
              listed,
              (found, entries) -> execs.addAll(Exec.adopt(found, entries)),
              patience,
              callOff);
      boxes.add(box);
      return Optional.of(new Adopted(box, Optional.of(record), execs));
    } catch (KernelException | IOException | RuntimeException e) {
      // One that is tried again was told of before.
      Level level = patience.equals(FIRST_WORD) ? Level.ERROR : Level.DEBUG;
      LOG.log(level, "event=box_not_adopted box=" + id + " left_alone=true", e);
      return Optional.empty();
    }
  }

  /** It may be late, or too new for us: whoever knows it by its name may end it. */
  private Optional<Adopted> leaveAlone(BoxId id, List<Holding> listed) {
    try {
      Optional<BoxRecord> record = record(id);
      Box box = Box.unreachable(host, id, record, listed);
      boxes.add(box);
      if (isUnwritten(box.journal()) && box.pids().isEmpty()) {
        // Its engine died before the first line was whole: it never was detached, and is gone.
        return release(box).isClean()
            ? Optional.empty()
            : Optional.of(new Adopted(box, record, List.of()));
      }
      return Optional.of(new Adopted(box, record, List.of()));
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_not_listed box=" + id, e);
      return Optional.empty();
    }
  }

  /** One that cannot be read says something. */
  private static boolean isUnwritten(Journal journal) {
    try {
      return journal.read().isEmpty();
    } catch (IOException | RuntimeException e) {
      // Told when it could not be adopted.
      return false;
    }
  }

  private Optional<BoxRecord> record(BoxId id) {
    try {
      return Optional.of(BoxRecord.read(host.instance().logs(id.value())));
    } catch (IOException | RuntimeException e) {
      // Told above.
      return Optional.empty();
    }
  }

  private void removeSubtree() throws KernelException {
    // ORDER: boxes are gone, their subtree goes, then nothing has controllers but our own place.
    for (Holding holding : holdings) {
      Path path = Path.of(holding.subject());
      if (path.equals(movedTo)) {
        comeBack(requireNonNull(path.getParent()));
      }
      host.removal().remove(new Cgroup(path));
    }
  }

  /** Goes back to where it was, for its own cgroup cannot be removed under it. */
  private void comeBack(Path left) throws KernelException {
    BoxCgroup.withdraw(new Cgroup(left));
    new Cgroup(left).enter();
    movedTo = null;
  }

  /** Releases what dead engines left in the default home; a dry run only tells. */
  public static List<Recovery.Finding> sweep(boolean dryRun) {
    return sweep(Home.locate(System.getenv()), dryRun);
  }

  /** Releases what dead engines left in {@code path}; a dry run only tells. */
  public static List<Recovery.Finding> sweep(Path path, boolean dryRun) {
    try (var scope = new Scope()) {
      EmptyWait emptyWait = EmptyWait.on(Poller.start(scope, "ebb-poller"));
      var removal = new CgroupRemoval(emptyWait);
      var recovery = new Recovery(Home.open(path), emptyWait, removal, AT_SWEEP);
      var findings = new ArrayList<>(recovery.recover(dryRun));
      findings.addAll(recovery.recoverLost(dryRun));
      findings.addAll(recovery.releaseRemovedHomes(dryRun));
      findings.addAll(sweepBeside(path, dryRun));
      return findings;
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot sweep Ebb's home " + path + ": " + e.getMessage(), e);
    }
  }

  /** The same of the homes that were lent {@link #aside} by processes that are dead. */
  public static List<Recovery.Finding> sweepBeside(Path path, boolean dryRun) {
    try (var scope = new Scope()) {
      EmptyWait emptyWait = EmptyWait.on(Poller.start(scope, "ebb-poller"));
      Home home = Home.open(path);
      var recovery = new Recovery(home, emptyWait, new CgroupRemoval(emptyWait), AT_SWEEP);
      return new SideHomes(home, recovery).recover(dryRun);
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot sweep beside " + path + ": " + e.getMessage(), e);
    }
  }

  /** What is done with a home for a while. */
  public interface Visit<T> {
    T in(Path home) throws IOException, InterruptedException;
  }

  /**
   * Lends a home beside {@code path}, and takes it away afterwards with all that is in it; a sweep
   * of {@code path} does that if this process is killed.
   */
  public static <T> T aside(Path path, Visit<T> visit) throws IOException, InterruptedException {
    try (var scope = new Scope()) {
      EmptyWait emptyWait = EmptyWait.on(Poller.start(scope, "ebb-poller"));
      Home home = Home.open(path);
      var recovery = new Recovery(home, emptyWait, new CgroupRemoval(emptyWait), AT_SWEEP);
      var homes = new SideHomes(home, recovery);
      homes.recover(false);
      Path side = homes.create(scope);
      try {
        return visit.in(side);
      } finally {
        homes.remove(side);
      }
    } catch (KernelException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot use a home in " + path + ": " + e.getMessage(), e);
    }
  }

  /** What is done with a home by the one who takes it away. */
  public interface Purging<T> {
    T with(Purge purge) throws KernelException, IOException, InterruptedException;
  }

  /** Lends the means to take {@code path}, a home that exists, off this host. */
  public static <T> T purge(Path path, Purging<T> purging) throws InterruptedException {
    try (var scope = new Scope()) {
      EmptyWait emptyWait = EmptyWait.on(Poller.start(scope, "ebb-poller"));
      Home home = Home.open(path);
      var recovery = new Recovery(home, emptyWait, new CgroupRemoval(emptyWait), AT_SWEEP);
      return purging.with(new Purge(home, recovery));
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot remove Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /** Explains why a box, or the process with this host pid, is still there. */
  public static Optional<Why.Answer> why(String subject) {
    Path path = Home.locate(System.getenv());
    try {
      return new Why(Home.open(path)).explain(subject);
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot read Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /** Makes a box; it lives until it is released, or this engine is closed. */
  public Box create(BoxSpec spec) {
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
    return create(id, spec, Box.Maker.NURSERY, listener);
  }

  private Box create(BoxId id, BoxSpec spec, Box.Maker maker, Consumer<BoxState> listener) {
    making.readLock().lock();
    try {
      if (closed) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "the engine is closed");
      }
      // ORDER: there is no moment at which it has lines, and is neither.
      inMaking.add(id.value());
      Box box = Box.create(host, id, spec, maker, listener, this::keepUnfinished);
      boxes.add(box);
      return box;
    } finally {
      inMaking.remove(id.value());
      making.readLock().unlock();
    }
  }

  private void keepUnfinished(Box box) {
    boxes.add(box);
    unfinished.add(box);
  }

  /**
   * Begins to make boxes ahead; to be closed before this engine.
   *
   * @param listener hears of each that somebody did something to, and must not wait for anything
   */
  public WarmPool openPool(PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    policy.zygote().ifPresent(this::hatch);
    return new WarmPool(
        new WarmPool.Maker() {
          @Override
          public Box make(BoxSpec spec, Optional<Interpreter> interpreter) {
            boolean isPython = interpreter.equals(Optional.of(Interpreter.PYTHON));
            var maker = isPython ? Box.Maker.ZYGOTE : Box.Maker.NURSERY;
            return create(newId(), spec, maker, state -> {});
          }

          @Override
          public void discard(Box box) {
            if (!release(box).isClean()) {
              // ORDER: it is one of the boxes, and the next audit ends it.
              unfinished.add(box);
            }
          }

          @Override
          public boolean isBusy() {
            return !inMaking.isEmpty();
          }
        },
        policy,
        listener);
  }

  private void hatch(ZygotePolicy zygote) {
    if (!Makers.canHatch(host)) {
      LOG.log(
          Level.WARNING,
          "event=zygote_refused reason=\"it needs cgroups, and a uid for each box\", ignoring");
      return;
    }
    try {
      host.makers().hatch(zygote);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Compares the host with what this engine holds, and mends; a dry run only tells. */
  public List<Recovery.Finding> audit(boolean dryRun) {
    return whileOpen(() -> new Audit(host, recovery(), new Known()).run(dryRun));
  }

  /** Releases what other engines on this home left that died; a dry run only tells. */
  public List<Recovery.Finding> recoverOthers(boolean dryRun) {
    return whileOpen(
        () -> {
          var findings = new ArrayList<>(recovery().recover(dryRun));
          findings.addAll(recovery().recoverLost(dryRun));
          return findings;
        });
  }

  private Recovery recovery() {
    return new Recovery(home, host.emptyWait(), host.removal(), AT_SWEEP, host.patience()::isOver);
  }

  private interface Sweeping {
    List<Recovery.Finding> run() throws KernelException, IOException;
  }

  /** One at a time, and never behind the back of the close. */
  private List<Recovery.Finding> whileOpen(Sweeping sweeping) {
    making.readLock().lock();
    auditing.lock();
    try {
      return closed ? List.of() : sweeping.run();
    } catch (KernelException | IOException e) {
      throw new SandboxException(ErrorCode.INTERNAL, "cannot sweep: " + e.getMessage(), e);
    } finally {
      auditing.unlock();
      making.readLock().unlock();
    }
  }

  private final class Known implements Audit.Population {
    @Override
    public Collection<Box> boxes() {
      return boxes;
    }

    @Override
    public Collection<Box> unfinished() {
      return unfinished;
    }

    @Override
    public Certificate release(Box box) {
      Certificate certificate = Engine.this.release(box);
      if (certificate.isClean()) {
        unfinished.remove(box);
      }
      return certificate;
    }

    /** ORDER: in the making first, for it becomes a box, and never the other way round. */
    @Override
    public boolean isKnown(String box) {
      return box.equals(Nursery.NAME)
          || box.equals(Zygote.NAME)
          || inMaking.contains(box)
          || boxes.stream().anyMatch(each -> each.id().value().equals(box));
    }
  }

  /** Starts a command in a box. */
  public Exec start(Box box, ExecSpec spec) {
    return Exec.start(box, spec);
  }

  /** Ends a box and proves it; what is stuck is tried again until it is gone, or we are closed. */
  public Certificate release(Box box) {
    Certificate certificate = box.release();
    if (certificate.isClean()) {
      // One that was stopped before still has its logs.
      certificate = forget(box);
    }
    if (!certificate.isClean()) {
      retries.add(box);
    }
    return certificate;
  }

  private boolean releaseAgain(Box box) {
    Certificate certificate = box.release();
    boolean isClean = certificate.isClean() && forget(box).isClean();
    if (isClean) {
      LOG.log(Level.INFO, "event=stuck_box_released box={0}", box.id());
    }
    return isClean;
  }

  /** Like {@link #release}, but what its commands wrote stays readable until {@link #forget}. */
  public Certificate stop(Box box) {
    return stop(box, Map.of());
  }

  /** The same; {@code note} is what the next engine shall hand out with the end of the box. */
  public Certificate stop(Box box, Map<String, String> note) {
    return box.stop(note);
  }

  /** Removes what a stopped box had left to read; what cannot be removed makes it stuck. */
  public Certificate forget(Box box) {
    Certificate certificate = box.forget();
    if (certificate.isClean()) {
      boxes.remove(box);
      unfinished.remove(box);
    }
    return certificate;
  }

  /** What a command did, and the proof that nothing of it is left. */
  public record RunResult(
      ExecResult result, CapturedOutput stdout, CapturedOutput stderr, Certificate certificate) {
    public ExitCause cause() {
      return result.cause();
    }
  }

  /** Runs one command in a box of its own. */
  public RunResult run(BoxSpec boxSpec, ExecSpec execSpec) throws InterruptedException {
    Box box = create(boxSpec);
    try {
      Exec exec = start(box, execSpec);
      ExecResult result = exec.await();
      var stdout = CapturedOutput.of(exec.stdout());
      var stderr = CapturedOutput.of(exec.stderr());
      return new RunResult(result, stdout, stderr, release(box));
    } finally {
      release(box);
    }
  }

  /** What was found of dead instances when this one was opened. */
  public List<Recovery.Finding> recovered() {
    return recovered;
  }

  /** What this engine may hold on the host now. */
  public List<Holding> holdings() {
    return host.instance().ledger().holdings();
  }

  /** How many cgroups were busy when they should have been empty; 0 in a healthy system. */
  public long leaks() {
    return host.removal().leaks();
  }

  /** How often a process from outside was found in the cgroup of a box or command, and killed. */
  public long strangers() {
    return host.strangers().count();
  }

  /** Has ready what makes boxes, so that the first need not wait for it. */
  public void prepare() throws InterruptedException {
    host.makers().prepare(host);
  }

  /** Why boxes are not made by a nursery that should be; empty: they are, or it was not needed. */
  public Optional<String> nurseryRefusal() {
    return host.makers().refusal();
  }

  /** The host uids that its boxes are lent. */
  public HostUids uids() {
    return host.uids();
  }

  /** The proxy of its boxes. */
  public Egress egress() {
    return host.egress();
  }

  public Hierarchies hierarchies() {
    return host.hierarchies();
  }

  public Path home() {
    return home.path();
  }

  /**
   * Before a close that must not last: whoever is killed and not gone by {@code last} is stuck, and
   * left for the next engine. Also ends the waits of releases and sweeps that have begun.
   */
  public void waitNoLongerThan(Deadline last) {
    host.patience().endAt(last);
  }

  /** Releases every box and gives the instance back; a box that is stuck keeps it on the ledger. */
  @Override
  public void close() {
    making.writeLock().lock();
    try {
      if (!closed) {
        closed = true;
        retries.close();
        closeOnce();
      }
    } finally {
      making.writeLock().unlock();
    }
  }

  private void closeOnce() {
    var stuck = new ArrayList<String>();
    for (Box box : boxes) {
      closeFor(box).ifPresent(stuck::add);
    }
    try (scope) {
      host.makers().close();
      // Who makes boxes may have been killed between a clone and its announcement.
      var _ = host.reaper().reap(pid -> ProcFs.uid(pid).stream().anyMatch(host.uids()::isOurs));
      if (stuck.isEmpty() && !hasCgroupOfBox()) {
        Step.REMOVE_SUBTREE.reach();
        removeSubtree();
        Step.STRIKE_SUBTREE.reach();
        host.instance().ledger().strike(holdings);
      }
      if (holdings().isEmpty()) {
        home.remove(host.instance().directory());
      }
    } catch (KernelException | IOException e) {
      throw SandboxException.internal(e);
    }
    if (!stuck.isEmpty()) {
      throw new SandboxException(ErrorCode.INTERNAL, "left for the next sweep: " + stuck);
    }
  }

  /** A detached box lives on in it; of one that was stopped only its past is left. */
  private boolean hasCgroupOfBox() {
    return holdings().stream()
        .anyMatch(held -> held.kind() == Kind.CGROUP && !held.box().isEmpty());
  }

  /** What is left of it, if anything: whatever goes wrong with one, the others are released. */
  private Optional<String> closeFor(Box box) {
    try {
      if (box.leaveIfDetached()) {
        return Optional.empty();
      }
      boolean isHopeless = host.patience().isOver() && box.state() == BoxState.STUCK;
      Certificate certificate = isHopeless ? box.certificate().orElseThrow() : release(box);
      return certificate.isClean() ? Optional.empty() : Optional.of(certificate.toString());
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_not_released box=" + box.id(), e);
      return Optional.of(box.id() + ": " + e.getMessage());
    }
  }

  /** The first of {@code places} where bubblewrap is. */
  static Path bwrap(List<Path> places) {
    return places.stream()
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.HOST_UNFIT,
                    "bubblewrap is missing: install it (apt-get install bubblewrap)"));
  }
}
