package dev.ebb.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.ExecKind;
import dev.ebb.backend.bubblewrap.ExecEvents;
import dev.ebb.backend.bubblewrap.InitChannel;
import dev.ebb.backend.bubblewrap.LeafHandle;
import dev.ebb.backend.bubblewrap.StartRequest;
import dev.ebb.box.Box;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.cgroup.CgroupUsage;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ExitCause;
import dev.ebb.process.OutputLoss;
import dev.ebb.process.ProcFs;
import dev.ebb.process.StuckProcess;
import dev.ebb.step.Step;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One command tree in a box.
 *
 * <p>Thread-safe. Owns its cgroup leaf, its logs and its stdin; they end with its box at the
 * latest.
 */
public final class Exec implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Exec.class.getName());
  private static final Duration FOREVER = Duration.ofDays(36_500);
  private static final long LONG_NANOS = Duration.ofDays(365).toNanos();

  /**
   * How long init may be late with the end of a ladder before the engine kills by itself; a test
   * may shorten it.
   */
  static volatile Duration ladderSlack = Duration.ofSeconds(7);

  /** What an operator may start beyond the limit of the others, where there are no cgroups. */
  private static final int LANE_PROCESSES = 32;

  private final Box box;
  private final int number;

  /** Of one that has ended the beginning. */
  private volatile ExecSpec spec;

  private final Scope scope;
  private final OrderedLock lock = new OrderedLock(LockOrder.EXEC);
  private final Condition changed = lock.newCondition();

  /** Apart, so that news of a command that goes on wakes nobody who waits for its end. */
  private final Condition over = lock.newCondition();

  /** What it writes now. */
  private volatile Section section;

  private int sections;
  private @Nullable PipedOutput piped;
  private final Optional<Stdin> stdin;
  private final Optional<Line> line;
  private final long startNanos;
  private final Instant startedAt;
  private final long oomKillsBefore;
  private final LongConsumer oomListener = this::outOfMemory;

  /** It gets logs when it needs them; until then init has in memory what it writes. */
  private boolean isKept;

  private boolean isAdopted;

  /** Init need not remember its end. */
  private volatile boolean isForgotten;

  private volatile boolean outOfMemory;

  /** What the workspace held in the end, if that was told. */
  private volatile byte @Nullable [] seen;

  private volatile int shepherd;

  /** What it used before it was ordered. */
  private Duration cpuBefore = Duration.ZERO;

  private volatile OptionalInt started = OptionalInt.empty();

  private @Nullable Outcome outcome;
  private long endNanos;

  /** How long whoever waits here leaves the end to init. */
  @GuardedBy("lock")
  private Deadline patience;

  private final AtomicBoolean pending = new AtomicBoolean();

  private volatile boolean killed;
  private volatile boolean overran;

  private final OrderedLock finishing = new OrderedLock(LockOrder.EXEC_FINISH);
  private @Nullable ExecResult result;

  /** What init said last. */
  private sealed interface Outcome {
    record Refused(ExecEvents.Step step, int errno) implements Outcome {}

    record Ended(ExecEvents.Ended ended, long oomKills) implements Outcome {}

    record Lost() implements Outcome {}

    record Unheard() implements Outcome {}
  }

  private Exec(
      Box box, ExecRecord record, Scope scope, Optional<Stdin> stdin, Optional<Line> line) {
    this.box = box;
    this.stdin = stdin;
    this.line = line;
    this.scope = scope;
    spec = record.spec();
    number = record.number();
    startedAt = record.startedAt();
    oomKillsBefore = record.oomKillsBefore();
    isKept = isKeptFirst(spec.kind(), box.isDetached());
    section = new Section(box.logs(), number, 0, lock, changed);
    Duration ago = Duration.between(startedAt, Instant.now());
    startNanos = System.nanoTime() - ago.toNanos();
    patience =
        Deadline.in(
            spec.timeout().isZero()
                ? FOREVER
                : spec.timeout().plus(spec.grace()).plus(ladderSlack).minus(ago));
  }

  private static ExecRecord newRecord(Box box, ExecSpec spec) throws KernelException {
    int number = box.nextExec();
    long oomKills = number == 1 ? 0 : box.enclosure().oomKills();
    return new ExecRecord(number, spec, Instant.now(), oomKills, Optional.empty());
  }

  /**
   * The execs of a detached box as the journal has them. Those that ran go on; the box shall tell
   * them soon what has become of them.
   */
  public static List<Exec> adopt(Box box, List<JournalEntry> entries)
      throws KernelException, IOException {
    var execs = new ArrayList<Exec>();
    for (ExecRecord record : ExecRecord.of(entries)) {
      var exec = new Exec(box, record, Scope.in(box.scope()), Optional.empty(), Optional.empty());
      exec.isAdopted = true;
      execs.add(exec);
      if (record.spec().operator()) {
        box.enclosure().findLane(record.number());
      }
      if (record.end().isPresent()) {
        exec.endedAs(record.end().get());
        if (record.end().get().leftovers().kept().isEmpty()) {
          box.enclosure().abandonLeaf(record.number());
        }
      } else if (box.state().isAlive()) {
        exec.section.find();
        box.channel().expect(exec.number, exec.new Events());
        box.whenOutOfMemory(exec.oomListener);
      } else {
        exec.section.find();
        exec.end(new Outcome.Lost(), 0, 0);
      }
    }
    return execs;
  }

  private void endedAs(ExecResult last) {
    result = last;
    spec = spec.ended();
    outcome = new Outcome.Lost();
    section.expectFiles();
    section.end(last.stdoutSize(), last.stderrSize(), last.truncated(), last.loss());
  }

  /** Starts a command; what cannot be executed is a result, not an exception. */
  public static Exec start(Box box, ExecSpec spec) {
    return start(box, spec, false);
  }

  /**
   * The same, with a stdout that is read from a pipe and kept nowhere: see {@link #piped}. Where
   * init is too old for that it is as any other.
   */
  static Exec startPiped(Box box, ExecSpec spec) {
    box.requireRunning();
    return start(box, spec, box.channel().canPipe());
  }

  private static Exec start(Box box, ExecSpec spec, boolean isPiped) {
    box.requireRunning();
    try (var passing = new Scope()) {
      Scope scope = Scope.in(box.scope());
      try {
        return spec.operator()
            ? startInLane(box, spec, scope, passing)
            : startBesideOthers(box, spec, scope, passing, isPiped);
      } catch (KernelException | RuntimeException e) {
        box.scope().release(scope);
        throw e;
      }
    } catch (KernelException | IllegalStateException e) {
      // RACE: a box that is released meanwhile makes this fail in many ways, for one reason.
      box.requireRunning();
      boolean tooLong = e instanceof KernelException kernel && kernel.is(Errno.E2BIG);
      throw new SandboxException(
          tooLong ? ErrorCode.BAD_REQUEST : ErrorCode.SETUP_FAILED,
          "cannot start the command: " + e.getMessage(),
          e);
    }
  }

  private static Exec startBesideOthers(
      Box box, ExecSpec spec, Scope scope, Scope passing, boolean isPiped) throws KernelException {
    box.starting().readLock().lock();
    try {
      return start(box, spec, scope, passing, isPiped, number -> box.createLeaf(number));
    } finally {
      box.starting().readLock().unlock();
    }
  }

  private static Exec startInLane(Box box, ExecSpec spec, Scope scope, Scope passing)
      throws KernelException {
    box.starting().writeLock().lock();
    try {
      return startWithInit(box, spec, scope, passing);
    } finally {
      box.starting().writeLock().unlock();
    }
  }

  private static Exec startWithInit(Box box, ExecSpec spec, Scope scope, Scope passing)
      throws KernelException {
    try {
      Exec exec = start(box, spec, scope, passing, false, number -> box.enterLane(number));
      exec.awaitBirth();
      return exec;
    } finally {
      box.leaveLane();
    }
  }

  /** Where it is born is where init is then. */
  private void awaitBirth() {
    try {
      var _ = awaitStart(ladderSlack);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Placing {
    Optional<Path> leaf(int exec) throws KernelException;
  }

  /** Our copies of what init is given live in {@code passing}. */
  private static Exec start(
      Box box, ExecSpec spec, Scope scope, Scope passing, boolean isPiped, Placing placing)
      throws KernelException {
    var fds = new ArrayList<Fd>();
    Optional<Stdin> stdin = Optional.empty();
    Optional<Line> line = Optional.empty();
    if (spec.kind() instanceof ExecKind.Dialogue) {
      Step.OPEN_STDIN.reach();
      Line both = new Line(scope, passing, box.host().poller(), box.host().discards());
      line = Optional.of(both);
      fds.add(both.peer());
    } else if (spec.takesInput()) {
      Step.OPEN_STDIN.reach();
      Stdin input = new Stdin(scope, passing, box.host().poller());
      stdin = Optional.of(input);
      fds.add(input.reader());
    }
    ExecRecord record = newRecord(box, spec);
    var exec = new Exec(box, record, scope, stdin, line);
    if (isPiped) {
      var output = new PipedOutput(scope, passing, box.host().poller());
      exec.piped = output;
      exec.isKept = true;
      fds.add(output.writer());
    }
    try {
      Optional<Path> leaf = placing.leaf(exec.number);
      LeafHandle handle =
          leaf.isPresent()
              ? LeafHandle.open(passing, leaf.get(), box.channel().takesLeafFiles())
              : LeafHandle.NONE;
      fds.addAll(0, handle.fds());
      fds.addAll(0, exec.firstLogs(passing));
      var request = exec.startRequest(handle.form());
      if (exec.isRecorded()) {
        Step.RECORD_START.reach();
        box.journal().append(record.entry());
      }
      exec.setPending(true);
      box.channel().start(exec.number, request, fds, isPiped, exec.new Events());
    } catch (KernelException | RuntimeException e) {
      exec.setPending(false);
      exec.forget();
      box.enclosure().removeLeaf(exec.number);
      throw e;
    }
    box.whenOutOfMemory(exec.oomListener);
    return exec;
  }

  /**
   * Gives a command that has waited on its stdin to whoever ordered it: its limits, its time and
   * what it uses count from now on. This object is done with, and its stdin is the new one's, also
   * where that takes no input.
   *
   * @param cpuSoFar of all commands of its box
   */
  public Exec renew(ExecSpec order, Duration cpuSoFar) throws KernelException {
    var record = new ExecRecord(number, order, Instant.now(), oomKillsBefore, Optional.empty());
    var heir =
        new Exec(
            box, record, scope, order.takesInput() ? stdin : Optional.empty(), Optional.empty());
    heir.shepherd = shepherd;
    heir.started = started;
    heir.cpuBefore = cpuSoFar;
    box.forget(oomListener);
    box.whenOutOfMemory(heir.oomListener);
    // ORDER: whatever is heard from now on is the heir's; what was heard before ends both.
    box.channel().expect(number, heir.new Events());
    box.channel().renew(number, heir.startRequest(heir.leafForm()));
    requireWaiting();
    return heir;
  }

  /** Nothing was heard of it but that it runs. */
  private void requireWaiting() throws KernelException {
    lock.lock();
    try {
      if (outcome != null || started.isEmpty() || !section.isEmpty()) {
        throw new KernelException("find exec " + number + " of box " + box.id(), Errno.ESRCH);
      }
    } finally {
      lock.unlock();
    }
  }

  public boolean isOver() {
    lock.lock();
    try {
      return outcome != null;
    } finally {
      lock.unlock();
    }
  }

  /** Of a command that has been started: nothing is handed over any more. */
  private LeafHandle.Form leafForm() {
    return box.enclosure().paths().isEmpty() ? LeafHandle.Form.NONE : LeafHandle.Form.DIRECTORY;
  }

  private StartRequest startRequest(LeafHandle.Form leaf) {
    return new StartRequest(
        spec.command(),
        Environment.lines(
            spec.environment(), box.spec().packages().size(), spec.kind(), box.spec().network()),
        spec.workdir(),
        spec.timeout(),
        spec.grace(),
        spec.outputLimit(),
        spec.openFiles(),
        spec.fileSize(),
        spec.takesInput(),
        spec.keep(),
        leaf,
        isKept,
        spec.kind(),
        leaf == LeafHandle.Form.NONE ? share() : StartRequest.Share.BY_CGROUP);
  }

  /**
   * What few bytes most commands write is kept in memory. Not in a box that may outlive this
   * engine, unless it ends with us in any case.
   */
  private static boolean isKeptFirst(ExecKind kind, boolean isDetached) {
    return switch (kind) {
      case ExecKind.Terminal _ -> false;
      case ExecKind.Dialogue() -> true;
      case ExecKind.Command(),
          ExecKind.Program(),
          ExecKind.FileOperation(),
          ExecKind.Resumption() ->
          !isDetached;
    };
  }

  /** None if it is kept, also because no disk takes logs just now: little output needs none. */
  private List<Fd> firstLogs(Scope passing) throws KernelException {
    if (isKept) {
      return List.of();
    }
    try {
      return makeLogs(passing);
    } catch (KernelException e) {
      if (spec.kind() instanceof ExecKind.Terminal || !box.state().isAlive()) {
        throw e;
      }
      LOG.log(Level.WARNING, "event=logs_not_made box=" + box.id() + " exec=" + number, e);
      isKept = true;
      return List.of();
    }
  }

  private List<Fd> makeLogs(Scope passing) throws KernelException {
    box.makeLogs();
    return section.create(passing);
  }

  /** ORDER: init waits for an answer, whatever goes wrong here; what it cannot store it counts. */
  private void giveLogs() {
    try (var passing = new Scope()) {
      if (isAdopted) {
        // The engine before may have made them, and died before it could send them.
        section.remove();
      }
      List<Fd> logs = makeLogs(passing);
      tell(init -> init.giveLogs(number, logs.getFirst(), logs.getLast()));
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=logs_not_made box=" + box.id() + " exec=" + number, e);
      int why = e instanceof KernelException kernel ? kernel.errno().number() : 0;
      tell(init -> init.refuseLogs(number, why == 0 ? Errno.EIO.number() : why));
    }
  }

  /** Init looks at memory now and then; meanwhile no process gets far beyond the limit. */
  private StartRequest.Share share() {
    if (spec.operator()) {
      return new StartRequest.Share(0, 0, box.spec().limits().pids() + LANE_PROCESSES);
    }
    long memory = box.spec().limits().memory().bytes();
    long most = memory > Long.MAX_VALUE / 8 ? Long.MAX_VALUE : Math.max(4 * memory, 2L << 30);
    return new StartRequest.Share(memory, most, box.spec().limits().pids());
  }

  /** Once each. */
  private void setPending(boolean isPending) {
    if (pending.compareAndSet(!isPending, isPending)) {
      box.startPending(isPending);
    }
  }

  private final class Events implements ExecEvents {
    @Override
    public void started(int number, int adopter) {
      setPending(false);
      lock.lock();
      try {
        shepherd = adopter;
        started = OptionalInt.of(number);
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void refused(ExecEvents.Step step, int errno) {
      end(new Outcome.Refused(step, errno), 0, 0);
    }

    @Override
    public void kept(byte[] stdoutBytes, byte[] stderrBytes) {
      section.keep(stdoutBytes, stderrBytes);
    }

    @Override
    public void full() {
      if (section.isFilledFirst()) {
        Thread.ofVirtual().name("ebb-logs-" + box.id() + "-" + number).start(Exec.this::giveLogs);
      }
    }

    @Override
    public void output(long stdoutSize, long stderrSize) {
      section.grow(stdoutSize, stderrSize);
    }

    @Override
    public void section(Written told) {
      Section last = section;
      // ORDER: whoever hears that one is over finds the next.
      section = new Section(box.logs(), number, ++sections, lock, changed);
      last.end(told.stdoutSize(), told.stderrSize(), told.truncated(), told.loss());
    }

    @Override
    public void looked(byte[] entries) {
      if (spec.kind() instanceof ExecKind.Program) {
        seen = entries;
      }
    }

    @Override
    public void ended(Ended ended) {
      // Of one that was ended it is known why, and one that did well was not killed.
      boolean didWell = ended.exited() && ended.status() == 0;
      boolean isKnown = ended.reason() != Reason.BY_ITSELF || didWell;
      long kills = isKnown ? oomKillsBefore : oomKills();
      end(new Outcome.Ended(ended, kills), ended.stdoutSize(), ended.stderrSize());
    }

    @Override
    public void lost() {
      end(new Outcome.Lost(), 0, 0);
    }

    @Override
    public void unheard() {
      end(new Outcome.Unheard(), 0, 0);
    }
  }

  /** KERNEL: counted before the victim dies; later the count may rise for others. */
  private long oomKills() {
    try {
      return box.enclosure().oomKills();
    } catch (KernelException e) {
      return oomKillsBefore;
    }
  }

  private void end(Outcome last, long stdoutSize, long stderrSize) {
    setPending(false);
    lock.lock();
    try {
      if (outcome == null) {
        outcome = last;
        endNanos = endNanos(last);
        spec = spec.ended();
      }
      section.end(stdoutSize, stderrSize, isTruncated(last), loss(last));
      changed.signalAll();
      over.signalAll();
    } finally {
      lock.unlock();
    }
    stdin.ifPresent(Stdin::close);
  }

  /** As init has seen it, which may be long ago; SAFETY: never before it began, nor to come. */
  private long endNanos(Outcome last) {
    long now = System.nanoTime();
    if (!(last instanceof Outcome.Ended(var ended, _)) || ended.at().isEmpty()) {
      return now;
    }
    long ago = Self.sinceMonotonic(ended.at().getAsLong());
    return now - Math.clamp(ago, 0, Math.max(0, now - startNanos));
  }

  private static boolean isTruncated(Outcome last) {
    return last instanceof Outcome.Ended(var ended, _) && ended.truncated();
  }

  private static OutputLoss loss(Outcome last) {
    return last instanceof Outcome.Ended(var ended, _) ? ended.loss() : OutputLoss.NONE;
  }

  /** The next engine must know of it. */
  private boolean isRecorded() {
    return box.isDetached()
        && piped == null
        && !(spec.kind() instanceof ExecKind.FileOperation)
        && !(spec.kind() instanceof ExecKind.Dialogue);
  }

  /** ORDER: written down first, then init may forget it. One that never ran is not remembered. */
  private void record() {
    if (!box.isDetached()) {
      return;
    }
    try {
      if (isRecorded() && result != null) {
        // ORDER: what init has in memory goes when it may forget the exec.
        section.store();
        Step.RECORD_END.reach();
        box.journal().append(ExecRecord.ended(number, result));
      } else if (isRecorded() && outcome instanceof Outcome.Refused) {
        box.journal().forget(number);
      } else if (isRecorded()) {
        // Asked again, it may be known how it ended.
        return;
      }
      letInitForget();
    } catch (KernelException | IOException e) {
      // The disk may be full: then init keeps it, and nothing else fails.
      LOG.log(Level.WARNING, "event=record_failed box=" + box.id() + " exec=" + number, e);
    }
  }

  private void letInitForget() {
    tell(init -> init.forget(number));
    isForgotten = true;
  }

  public int number() {
    return number;
  }

  public ExecSpec spec() {
    return spec;
  }

  public Instant startedAt() {
    return startedAt;
  }

  /** Waits until init has said that it runs, or how it ended; false when it has not in time. */
  public boolean awaitStart(Duration patience) throws InterruptedException {
    BooleanSupplier isKnown = () -> started.isPresent() || outcome != null;
    await(changed, isKnown, Deadline.in(patience));
    return isKnown.getAsBoolean() || (hearOut() && isKnown.getAsBoolean());
  }

  /** The command's pid inside the box, once it is known; it may have ended since. */
  public OptionalInt pid() {
    return started;
  }

  /** Its living processes, by their host pids. */
  public List<Integer> pids() {
    try {
      return box.enclosure().leafProcs(number, shepherd);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  public OutputLog stdout() {
    return section.stdout();
  }

  public OutputLog stderr() {
    return section.stderr();
  }

  /** What it writes now: all of it, unless it is cut. */
  public Section section() {
    return section;
  }

  /**
   * Ends the section, with all that was written until now; of one that takes orders. When that is
   * over the next has begun.
   */
  public void cut() {
    tell(init -> init.cut(number));
  }

  /** Forgets what was written, if nobody shall read it any more. */
  public static void remove(Section done) {
    try {
      done.remove();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=output_left, ignoring: it goes with its box", e);
    }
  }

  /** Waits until either stream has more than was read; false once both are read to their end. */
  public boolean awaitOutput(long stdoutRead, long stderrRead) throws InterruptedException {
    return awaitOutput(stdoutRead, stderrRead, FOREVER);
  }

  /** The same, and true also when nothing has come in time. */
  public boolean awaitOutput(long stdoutRead, long stderrRead, Duration patience)
      throws InterruptedException {
    await(
        changed,
        () -> section.hasMore(stdoutRead, stderrRead) || section.isEnd(stdoutRead, stderrRead),
        Deadline.in(patience));
    return !section.isEnd(stdoutRead, stderrRead);
  }

  /**
   * The entries of the workspace when it had ended, see init/protocol.h; once, for ended ones are
   * many. Empty: not told.
   */
  Optional<byte[]> takeWorkspace() {
    Optional<byte[]> taken = Optional.ofNullable(seen);
    seen = null;
    return taken;
  }

  /** What it writes to stdout, for one that was started so; then there is nothing in its log. */
  Optional<PipedOutput> piped() {
    return Optional.ofNullable(piped);
  }

  /** Empty unless the command takes input. */
  public Optional<Stdin> stdin() {
    return stdin;
  }

  /** Empty unless it takes orders. */
  public Optional<Line> line() {
    return line;
  }

  /** Waits for the end; the same truth for whoever asks. */
  public ExecResult await() throws InterruptedException {
    return await(FOREVER).orElseThrow();
  }

  /** Empty when it has not ended in time. */
  public Optional<ExecResult> await(Duration patience) throws InterruptedException {
    Optional<Outcome> last = awaitOutcome(Deadline.in(patience));
    if (last.isEmpty()) {
      return Optional.empty();
    }
    finishing.lockInterruptibly();
    try {
      if (result == null) {
        try {
          result = finish(last.get());
        } finally {
          record();
        }
      }
      return Optional.of(result);
    } finally {
      finishing.unlock();
    }
  }

  private Optional<Outcome> awaitOutcome(Deadline deadline) throws InterruptedException {
    await(over, () -> outcome != null, deadline);
    return Optional.ofNullable(outcome);
  }

  /** Waits until {@code condition} holds, or the deadline; ends what init should have ended. */
  private void await(Condition news, BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!condition.getAsBoolean() && !deadline.isOver()) {
        long nanos = Math.min(deadline.remainingNanos(), patience.remainingNanos());
        if (patience.isOver()) {
          endWithoutInit();
        } else if (nanos > LONG_NANOS) {
          // Without a timer, which each wait would set and clear.
          news.await();
        } else {
          var _ = news.awaitNanos(nanos);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Init holds the deadlines, but it shares the box's processors and may be starved there.
   *
   * <p>ORDER: what init has said is heard first. It may wait in the socket, after a time in which
   * we did not run.
   */
  @GuardedBy("lock")
  private void endWithoutInit() throws InterruptedException {
    patience = Deadline.in(ladderSlack);
    boolean isHeard;
    lock.unlock();
    try {
      isHeard = hearOut();
    } finally {
      lock.lock();
    }
    if (outcome != null) {
      return;
    }
    if (overran) {
      if (isHeard) {
        end(new Outcome.Lost(), section.stdout().size(), section.stderr().size());
      }
      return;
    }
    overran = true;
    lock.unlock();
    try {
      killLeaf();
    } finally {
      lock.lock();
    }
  }

  /**
   * Hears all that the box has said until now; to be called before a clock decides that something
   * was not said. False when that takes too long.
   */
  public boolean hearOut() throws InterruptedException {
    return box.hearOut();
  }

  /**
   * The kill ladder: SIGTERM to the whole tree, SIGKILL to what is left after {@code grace}.
   * Returns at once; one that has ended already is no error.
   */
  public void kill(Duration grace) {
    hurry(grace.plus(ladderSlack));
    try {
      box.channel().kill(number, Signal.TERM, grace);
    } catch (KernelException e) {
      overran = true;
      killLeaf();
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.WRONG_STATE) {
        throw e;
      }
      // The box has ended, and the command with it.
    }
  }

  /**
   * Sends a signal once to the whole tree; nothing follows. One that has ended already is no error.
   */
  public void signal(Signal signal) {
    if (signal == Signal.KILL) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, "SIGKILL is what a kill ends with");
    }
    tell(init -> init.signal(number, signal));
  }

  /** Changes the size of its terminal, of which the command hears. */
  public void resize(int rows, int columns) {
    if (!(spec.kind() instanceof ExecKind.Terminal)) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "the command has no terminal");
    }
    var size = ExecSpec.terminal(rows, columns);
    tell(init -> init.resize(number, size));
  }

  private interface Word {
    void sayTo(InitChannel init) throws KernelException;
  }

  private void tell(Word word) {
    try {
      word.sayTo(box.channel());
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=init_not_told, ignoring: the box ends", e);
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.WRONG_STATE) {
        throw e;
      }
      // The box has ended, and the command with it.
    }
  }

  private void hurry(Duration most) {
    lock.lock();
    try {
      killed = true;
      patience = patience.sooner(most);
      changed.signalAll();
      over.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Kills and waits; if init does not answer, the engine does it by itself. */
  public ExecResult killAndAwait(Duration grace) throws InterruptedException {
    kill(grace);
    return await();
  }

  private void killLeaf() {
    try {
      box.enclosure().killLeaf(number);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** One victim takes the whole exec along: what is left of it could only fail strangely. */
  private void outOfMemory(long kills) {
    // RACE: told late, it may have been of a command before this one.
    if (kills > oomKillsBefore) {
      outOfMemory = true;
      kill(Duration.ZERO);
    }
  }

  private ExecResult finish(Outcome last) throws InterruptedException {
    box.forget(oomListener);
    try {
      if (last instanceof Outcome.Lost) {
        // KERNEL: a dying pid 1 closes its socket before its namespace is killed.
        endLeaf();
      }
      CgroupUsage usage = usageOf(last);
      ExitCause cause =
          switch (last) {
            case Outcome.Refused(var step, var errno) -> refused(step, errno);
            case Outcome.Ended(var ended, var kills) -> cause(ended, kills > oomKillsBefore);
            case Outcome.Lost() -> lostOrStuck(usage.oomKills() > oomKillsBefore);
            case Outcome.Unheard() -> new ExitCause.Lost();
          };
      if (last instanceof Outcome.Ended(var ended, _) && ended.hadStrangers()) {
        box.host().strangers().killedWith(box.id(), number);
      }
      var leftovers = leftovers(last);
      boolean truncated = isTruncated(last);
      // What is lost dies with its box, which removes all its cgroups when they are empty.
      if (leftovers.kept().isEmpty()
          && !(cause instanceof ExitCause.Stuck)
          && !(last instanceof Outcome.Lost)) {
        removeLeaf();
      }
      if (cause instanceof ExitCause.Stuck) {
        // The sweep removes it, once they are gone.
        box.enclosure().abandonLeaf(number);
      }
      return new ExecResult(
          cause,
          section.stdout().size(),
          section.stderr().size(),
          truncated,
          loss(last),
          usage,
          leftovers,
          Duration.ofNanos(endNanos - startNanos));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Without init; a failure shows in the processes that are left. */
  private void endLeaf() throws InterruptedException {
    try {
      box.enclosure().endLeaf(number);
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=leaf_not_ended box=" + box.id() + " exec=" + number, e);
    }
  }

  /** What cannot be counted is no reason to lose the end. */
  private CgroupUsage usageOf(Outcome last) {
    try {
      Step.READ_USAGE.reach();
      return box.enclosure()
          .usage()
          .map(used -> used.since(cpuBefore))
          .orElseGet(() -> usage(last));
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=usage_unknown box=" + box.id() + " exec=" + number, e);
      return CgroupUsage.NONE;
    }
  }

  /** One that will not go is left to the release of its box, and the end is told all the same. */
  private void removeLeaf() {
    try {
      Step.REMOVE_LEAF.reach();
      box.enclosure().removeLeaf(number);
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=leaf_left box=" + box.id() + " exec=" + number, e);
    }
  }

  private static CgroupUsage usage(Outcome last) {
    if (!(last instanceof Outcome.Ended(var ended, _))) {
      return CgroupUsage.NONE;
    }
    var seen = ended.usage();
    boolean oom = ended.reason() == ExecEvents.Reason.OUT_OF_MEMORY;
    return new CgroupUsage(
        seen.cpu(), seen.peakMemory(), seen.peakProcesses(), oom ? 1 : 0, seen.crowded() ? 1 : 0);
  }

  private ExitCause refused(ExecEvents.Step step, int errno) throws KernelException {
    // It never ran, so there is nobody in it; and below it may become an exception.
    box.enclosure().removeLeaf(number);
    String why = Errno.describe(errno);
    String name = spec.command().getFirst();
    return switch (step) {
      case EXEC ->
          errno == Errno.ENOENT.number()
              ? new ExitCause.NotStarted(127, name + ": not found in the box")
              : new ExitCause.NotStarted(126, name + ": cannot be executed: " + why);
      case WORKDIR ->
          throw new SandboxException(
              ErrorCode.BAD_REQUEST,
              "cannot change to the working directory " + spec.workdir() + ": " + why);
      case REQUEST, CLONE, LIMITS -> {
        String what = "cannot start " + name + " (" + step + "): " + why;
        throw errno == Errno.EAGAIN.number() && mayHaveMoreProcesses()
            ? SandboxException.later(
                ErrorCode.PRESSURE,
                what + ": the host has no process to spare",
                Duration.ofSeconds(1),
                Map.of())
            : new SandboxException(ErrorCode.SETUP_FAILED, what);
      }
    };
  }

  /** Whether its box has fewer than its limit, so that whoever refused one more is the host. */
  private boolean mayHaveMoreProcesses() throws KernelException {
    long limit = box.spec().limits().pids();
    var counted = box.enclosure().occupancy();
    if (counted.isPresent()) {
      return counted.get().tasks() < limit;
    }
    return box.enclosure().procs().stream()
            .flatMap(pid -> ProcFs.stat(pid).stream())
            .mapToLong(ProcFs.Stat::threads)
            .sum()
        < limit;
  }

  private ExitCause cause(ExecEvents.Ended ended, boolean oom) throws InterruptedException {
    if (ended.stuck()) {
      // ORDER: init may not have been able to look, or to kill; we have other means.
      endLeaf();
      // RACE: whoever outlived the kill when init looked may be gone by now.
      var stuck = stuckProcesses();
      if (!stuck.isEmpty()) {
        return new ExitCause.Stuck(stuck);
      }
    }
    var last = lastWord(ended);
    return switch (ended.reason()) {
      case KILLED -> outOfMemory ? new ExitCause.OutOfMemory(last) : new ExitCause.Killed(last);
      case TIMED_OUT -> new ExitCause.TimedOut(last);
      case OUTPUT_LIMIT -> new ExitCause.OutputLimit(last);
      case OUT_OF_MEMORY -> new ExitCause.OutOfMemory(last);
      case BY_ITSELF -> {
        // Of one that was found, the count may have risen for others since it ended.
        if (oom && (isAdopted ? isKilled(last) : last.shellCode() != 0)) {
          yield new ExitCause.OutOfMemory(last);
        }
        // One that ended in another way was not ended by us, however late we heard of it.
        if (overran && isKilled(last)) {
          yield killed ? new ExitCause.Killed(last) : new ExitCause.TimedOut(last);
        }
        if (ended.loss().isAny()) {
          yield new ExitCause.OutputLost(last);
        }
        yield ended.exited()
            ? new ExitCause.Exited(ended.status())
            : new ExitCause.Signalled(ended.status());
      }
    };
  }

  private static boolean isKilled(ExitCause.Exit last) {
    return last.shellCode() == ExitCause.SIGKILL_CODE;
  }

  /** One that was still dying when init gave it up died of SIGKILL. */
  private static ExitCause.Exit lastWord(ExecEvents.Ended ended) {
    if (ended.unreaped()) {
      return new ExitCause.Exit(0, Signal.KILL.number());
    }
    return ended.exited()
        ? new ExitCause.Exit(ended.status(), 0)
        : new ExitCause.Exit(0, ended.status());
  }

  /** Stuck, if processes of the command are left in a box that lives on; else lost. */
  private ExitCause lostOrStuck(boolean oom) {
    var stuck = box.state().isAlive() ? stuckProcesses() : List.<StuckProcess>of();
    return stuck.isEmpty() ? lost(oom) : new ExitCause.Stuck(stuck);
  }

  private ExitCause lost(boolean oom) {
    var killed = new ExitCause.Exit(0, Signal.KILL.number());
    if (!box.state().isAlive() && !box.wasLost()) {
      return new ExitCause.Killed(killed);
    }
    return oom ? new ExitCause.OutOfMemory(killed) : new ExitCause.Lost();
  }

  private List<StuckProcess> stuckProcesses() {
    return pids().stream().map(StuckProcess::of).toList();
  }

  private ExecResult.Leftovers leftovers(Outcome last) {
    // What a kill met on its way is no leftover.
    if (!(last instanceof Outcome.Ended(var ended, _))
        || ended.reason() != ExecEvents.Reason.BY_ITSELF) {
      return new ExecResult.Leftovers(0, List.of());
    }
    var kept = new ArrayList<ExecResult.Kept>();
    if (spec.keep()) {
      for (int pid : pids()) {
        kept.add(new ExecResult.Kept(pid, ProcFs.commandLine(pid)));
      }
    }
    return new ExecResult.Leftovers(ended.leftovers(), kept);
  }

  /** Gives its logs and stdin back, which otherwise stay until the box ends; the result stays. */
  @Override
  public void close() {
    try {
      box.scope().release(scope);
      forget();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  private void forget() {
    if (isRecorded()) {
      try {
        box.journal().forget(number);
      } catch (KernelException | IOException e) {
        LOG.log(Level.WARNING, "event=record_failed box=" + box.id() + " exec=" + number, e);
      }
      if (result != null && !isForgotten) {
        // Its end could not be written down; init has no room for the ends of all commands.
        letInitForget();
      }
    }
    try {
      section.remove();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=output_left, ignoring: it goes with its box", e);
    }
  }
}
