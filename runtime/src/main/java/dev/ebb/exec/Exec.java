package dev.ebb.exec;

import dev.ebb.box.Box;
import dev.ebb.box.ExecSite;
import dev.ebb.init.StartRequest;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One command tree in a box. Thread-safe. Owns its cgroup leaf, its logs and its stdin, which are
 * released with its box at the latest.
 */
public final class Exec implements ExecView, AutoCloseable {
  private static final Logger LOG = System.getLogger(Exec.class.getName());

  /** How late init may end a kill ladder before the engine kills; a test may shorten it. */
  static volatile Duration ladderSlack = Duration.ofSeconds(7);

  private final ExecSite site;
  private final int number;

  /** The command; after its end, only the beginning of its arguments. */
  private volatile ExecSpec spec;

  private final Scope scope;
  private final ExecProgress progress;
  private final ExecOutput output;
  private final ExecJournal journal;
  private final ExecInput input;
  private final Optional<RunnerSocket> runnerSocket;
  private final Instant startedAt;
  private final long oomKillsBefore;
  private final LongConsumer oomListener = this::onOutOfMemory;
  private final AtomicBoolean pending = new AtomicBoolean();
  private final OrderedLock finishing = new OrderedLock(LockOrder.EXEC_FINISH);
  private boolean isAdopted;

  /** The processor time of the box before this command was submitted. */
  private Duration cpuBefore = Duration.ZERO;

  private @Nullable ExecResult result;

  Exec(
      ExecSite site,
      ExecRecord record,
      Scope scope,
      Optional<Stdin> stdin,
      Optional<RunnerSocket> runnerSocket) {
    this.site = site;
    this.runnerSocket = runnerSocket;
    this.scope = scope;
    spec = record.spec();
    number = record.number();
    startedAt = record.startedAt();
    oomKillsBefore = record.oomKillsBefore();
    Optional<Duration> most =
        Optional.of(spec.timeout()).filter(time -> !time.isZero()).map(spec.grace()::plus);
    Duration ago = Duration.between(startedAt, Instant.now());
    progress = new ExecProgress(new WithoutInit(), most, ladderSlack, ago);
    output = new ExecOutput(site, number, spec.kind(), progress.lock(), progress.changed());
    journal =
        new ExecJournal(
            site, number, spec.kind(), output, () -> send(sandbox -> sandbox.forget(number)));
    input = new ExecInput(stdin, record.input(), journal);
  }

  // --- beginning ---

  /** Starts a command. A program that cannot be executed is a result, not an exception. */
  public static Exec start(Box box, ExecSpec spec) {
    return new ExecStart(box.execSite(), spec).start();
  }

  /**
   * Starts a command whose stdin holds {@code input}. The command gets all of it, also when this
   * engine ends before the command has read it.
   */
  public static Exec start(Box box, ExecSpec spec, byte[] input) {
    return new ExecStart(box.execSite(), spec.withInput()).withInput(input).start();
  }

  /** Lets init start it; its resources have been made. */
  void begin(ExecRecord record, StartRequest request, List<Fd> fds, boolean isPiped)
      throws KernelException {
    journal.begin(record);
    setPending(true);
    site.sandbox().start(number, request, fds, isPiped, new ExecReports(site, this));
    site.whenOutOfMemory(oomListener);
  }

  /** Releases a command that could not be started. */
  void abandon() {
    setPending(false);
    forget();
  }

  /**
   * Hands a command that has waited on its stdin to the caller that requested it: its limits, time
   * and usage count from now on. This object is finished; its stdin belongs to the new one, even if
   * that takes no input.
   *
   * @param cpuSoFar of all commands of its box
   */
  public Exec rearm(ExecSpec order, Duration cpuSoFar) throws KernelException {
    Optional<Stdin> stdin = order.takesInput() ? stdin() : Optional.empty();
    var record = ExecRecord.atStart(number, order, oomKillsBefore, stdin.isPresent());
    var heir = new Exec(site, record, scope, stdin, Optional.empty());
    heir.progress.takeOver(progress);
    heir.cpuBefore = cpuSoFar;
    site.forget(oomListener);
    // ORDER: later reports go to the heir; an end reported earlier ends both.
    heir.expectReports();
    site.sandbox().rearm(number, ExecStart.rearmRequest(site, order, heir.output.isBuffered()));
    if (progress.isOver() || progress.started().isEmpty() || !segment().isEmpty()) {
      throw new KernelException("find exec " + number + " of box " + site.id(), Errno.ESRCH);
    }
    return heir;
  }

  /** Expects reports on a command that init runs already. */
  private void expectReports() {
    site.whenOutOfMemory(oomListener);
    site.sandbox().expect(number, new ExecReports(site, this));
  }

  /** Adopts a command of an earlier engine; its end is recorded if it has a result. */
  void adopt(Optional<ExecResult> end) throws KernelException, IOException {
    isAdopted = true;
    output.adopt(end);
    if (end.isPresent()) {
      result = end.get();
      spec = spec.ended();
      progress.endedBefore();
    } else if (site.isAlive()) {
      expectReports();
    } else {
      onEnd(new Outcome.Lost(), 0, 0);
    }
  }

  /** Notes that a start is pending, or is no longer; each once. */
  private void setPending(boolean isPending) {
    if (pending.compareAndSet(!isPending, isPending)) {
      site.lane().startPending(isPending);
    }
  }

  // --- what init reports, see ExecReports ---

  void onStarted(int pid, int adopter) {
    setPending(false);
    progress.onStarted(pid, adopter);
  }

  /**
   * ORDER: the long arguments are dropped first, so a thread that sees the end counts the short
   * ones.
   */
  void onEnd(Outcome last, long stdoutSize, long stderrSize) {
    setPending(false);
    spec = spec.ended();
    progress.onEnd(last, segment(), stdoutSize, stderrSize);
    input.close();
  }

  /**
   * Kills the whole exec after one victim: the remaining processes could only fail in obscure ways.
   */
  private void onOutOfMemory(long kills) {
    // RACE: a late report may concern an earlier command.
    if (kills > oomKillsBefore) {
      progress.runOutOfMemory();
      kill(Duration.ZERO);
    }
  }

  // --- what it is ---

  @Override
  public int number() {
    return number;
  }

  @Override
  public ExecSpec spec() {
    return spec;
  }

  @Override
  public Instant startedAt() {
    return startedAt;
  }

  @Override
  public OptionalInt pid() {
    return progress.started();
  }

  @Override
  public List<Integer> pids() {
    try {
      return site.leaf(number).procs(progress.subreaper());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  // --- input and output ---

  @Override
  public Segment segment() {
    return output.segment();
  }

  /**
   * Ends the current output segment of a command that takes orders. The segment holds the output so
   * far; once it is over, the next segment has begun.
   */
  public void split() {
    send(sandbox -> sandbox.split(number));
  }

  /** Waits until either stream has unread output; returns false once both are read to the end. */
  public boolean awaitOutput(long stdoutRead, long stderrRead) throws InterruptedException {
    return awaitOutput(stdoutRead, stderrRead, ExecProgress.FOREVER);
  }

  @Override
  public boolean awaitOutput(long stdoutRead, long stderrRead, Duration most)
      throws InterruptedException {
    progress.awaitChange(
        () -> segment().hasMore(stdoutRead, stderrRead) || segment().isEnd(stdoutRead, stderrRead),
        most);
    return !segment().isEnd(stdoutRead, stderrRead);
  }

  /** Returns the pipe of its stdout, if it was started with one; then its log is empty. */
  Optional<PipedOutput> piped() {
    return output.pipe();
  }

  public ExecInput input() {
    return input;
  }

  @Override
  public boolean isInputCut() {
    return input.isCut();
  }

  @Override
  public Optional<Stdin> stdin() {
    return input.pipe();
  }

  /** Returns its socket; empty unless it takes orders. */
  public Optional<RunnerSocket> runnerSocket() {
    return runnerSocket;
  }

  // --- waiting ---

  public boolean isOver() {
    return progress.isOver();
  }

  /** Waits until init has reported that it runs or how it ended; returns false on a timeout. */
  public boolean awaitStart(Duration most) throws InterruptedException {
    return progress.awaitStart(most, () -> send(sandbox -> sandbox.awaitStart(number)));
  }

  /** Waits for the end; every caller gets the same result. */
  public ExecResult await() throws InterruptedException {
    return await(ExecProgress.FOREVER).orElseThrow();
  }

  /** Waits for the end; returns empty on a timeout. */
  public Optional<ExecResult> await(Duration most) throws InterruptedException {
    Optional<Outcome> last = progress.awaitEnd(most);
    if (last.isEmpty()) {
      return Optional.empty();
    }
    finishing.lockInterruptibly();
    try {
      if (result == null) {
        try {
          site.forget(oomListener);
          result = new ExecEnd(site, this, last.get()).finish();
        } finally {
          journal.end(result, last.get());
        }
      }
      return Optional.of(result);
    } finally {
      finishing.unlock();
    }
  }

  /**
   * Reads everything that the box has sent until now. Call this before a timeout decides that a
   * message is missing. Returns false if reading takes too long.
   */
  public boolean catchUp() throws InterruptedException {
    return site.catchUp();
  }

  // --- ending ---

  /**
   * Starts the kill ladder: SIGTERM to the whole tree, SIGKILL to the remaining processes after
   * {@code grace}. Returns at once; no-op for a command that has ended.
   */
  public void kill(Duration grace) {
    progress.hurry(grace);
    try {
      site.sandbox().kill(number, Signal.TERM, grace);
    } catch (KernelException e) {
      progress.overrun();
      killLeaf();
    } catch (SandboxException e) {
      ignoreEndOfBox(e);
    }
  }

  /** Kills and waits; if init does not answer, the engine kills. */
  public ExecResult killAndAwait(Duration grace) throws InterruptedException {
    kill(grace);
    return await();
  }

  /** Sends one signal to the whole tree; no-op for a command that has ended. */
  public void signal(Signal signal) {
    if (signal == Signal.KILL) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, "SIGKILL is what a kill ends with");
    }
    send(sandbox -> sandbox.signal(number, signal));
  }

  /** Changes the size of its terminal; the command gets SIGWINCH. */
  public void resize(int rows, int columns) {
    if (!(spec.kind() instanceof ExecKind.Terminal)) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "the command has no terminal");
    }
    var size = ExecSpec.terminal(rows, columns);
    send(sandbox -> sandbox.resize(number, size));
  }

  void send(ExecOutput.Message message) {
    try {
      message.sendTo(site.sandbox());
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=init_not_told, ignoring: the box ends", e);
    } catch (SandboxException e) {
      ignoreEndOfBox(e);
    }
  }

  /** Ignores a failure that the end of the box explains: the command ends with its box. */
  private static void ignoreEndOfBox(SandboxException e) {
    if (e.code() != ErrorCode.WRONG_STATE) {
      throw e;
    }
  }

  private void killLeaf() {
    try {
      site.leaf(number).kill();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  private final class WithoutInit implements ExecProgress.Backstop {
    @Override
    public boolean catchUp() throws InterruptedException {
      return Exec.this.catchUp();
    }

    @Override
    public void kill() {
      killLeaf();
    }

    @Override
    public void giveUp() {
      onEnd(new Outcome.Lost(), stdout().size(), stderr().size());
    }
  }

  /** Releases its logs and stdin, which otherwise stay until the box ends; the result stays. */
  @Override
  public void close() {
    try {
      site.release(scope);
      forget();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  private void forget() {
    journal.forget(result != null);
    segment().discard();
  }

  // --- for ExecStart and ExecEnd ---

  ExecOutput output() {
    return output;
  }

  boolean isAdopted() {
    return isAdopted;
  }

  ExecProgress progress() {
    return progress;
  }

  long oomKillsBefore() {
    return oomKillsBefore;
  }

  Duration cpuBefore() {
    return cpuBefore;
  }
}
