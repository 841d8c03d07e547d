package dev.ebb.code;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecResult;
import dev.ebb.exec.Line;
import dev.ebb.exec.Section;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ExitCause;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An interpreter in a box that runs one cell after the other, and keeps its state between them.
 * Thread-safe. Its exec is whoever's started it, who also attends to that and ends it.
 *
 * <p>Orders and answers go by the {@link Line} of the exec, what the code writes by the ordinary
 * way of output. Each answer bears the nonce of its cell: what anything else says breaks the
 * context, and only that.
 */
public final class Context {
  /** Cells that wait for their turn. */
  private static final int QUEUE_MOST = 100;

  private static final Duration FOREVER = Duration.ofDays(36_500);
  private static final Duration START_PATIENCE = Duration.ofSeconds(60);
  private static final Duration SEND_PATIENCE = Duration.ofSeconds(10);

  /** Of init, to end a section; of a tree that was killed, to be gone. */
  private static final Duration LADDER_PATIENCE = Duration.ofSeconds(30);

  /** An interpreter that hangs up is about to end, or cannot speak any more. */
  private static final Duration LAST_WORD = Duration.ofSeconds(2);

  /** Of a cell that has begun, until it hears every interrupt. */
  private static final Duration SETTLED = Duration.ofMillis(300);

  /** RACE: an interpreter that begins with a cell may not hear the first interrupt. */
  private static final int ASKED_MOST = 2;

  private static final String NOBODY = "0".repeat(16);
  private static final SecureRandom RANDOM = new SecureRandom();

  /** What it does. */
  public enum State {
    STARTING,
    IDLE,
    BUSY,
    ENDED;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Exec exec;
  private final Line line;
  private final ShowRoom room;
  private final Frames frames = new Frames(new Heard());
  private final OrderedLock lock = new OrderedLock(LockOrder.CONTEXT);

  @GuardedBy("lock")
  private final Deque<Cell> queue = new ArrayDeque<>();

  @GuardedBy("lock")
  private boolean working;

  @GuardedBy("lock")
  private int cells;

  private volatile @Nullable Cell current;
  private volatile boolean ready;
  private volatile boolean hungUp;

  /** What was said that no runner says. */
  private volatile @Nullable String broken;

  private volatile @Nullable ExitCause cause;

  private Context(Exec exec, ShowRoom room) {
    this.room = room;
    this.exec = exec;
    line = exec.line().orElseThrow();
  }

  /** Makes a context of an exec that was started for it. */
  public static Context of(Exec exec, Runner runner) {
    return of(exec, runner, ShowRoom.OF_PROCESS);
  }

  /** Starts a context; its cells show what {@code room} has room for. */
  public static Context of(Exec exec, Runner runner, ShowRoom room) {
    var context = new Context(exec, room);
    try {
      context.line.listen(context.new Words());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
    // ORDER: it says that it is ready before it is sent anything else.
    context.line.send(runner.boot(), Deadline.in(SEND_PATIENCE));
    return context;
  }

  public State state() {
    if (isOver()) {
      return State.ENDED;
    }
    return current != null ? State.BUSY : ready ? State.IDLE : State.STARTING;
  }

  /** Why it was ended, if for what it said. */
  public Optional<String> broken() {
    return Optional.ofNullable(broken);
  }

  /** How the interpreter ended. ORDER: known before the end of the cell that it ended in. */
  public Optional<ExitCause> cause() {
    return Optional.ofNullable(cause);
  }

  // --- what it says ---

  private final class Words implements Line.Listener {
    @Override
    public boolean heard(byte[] bytes, int length) {
      String wrong = frames.take(bytes, length);
      if (wrong != null) {
        breakUp(wrong);
      }
      return wrong == null;
    }

    @Override
    public void ended() {
      hungUp = true;
      exec.section().wake();
      Thread.ofVirtual().name("ebb-context-end").start(Context.this::seeOff);
    }
  }

  /** An interpreter that hung up ends; if not by itself, by us. */
  private void seeOff() {
    try {
      var _ = end();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Heard implements Frames.Listener {
    @Override
    public @Nullable String opens(String nonce, Frames.Kind kind) {
      if (kind == Frames.Kind.READY) {
        return ready || !nonce.equals(NOBODY) ? "ready when it was so already" : null;
      }
      Cell cell = current;
      boolean isRight = cell != null && cell.done == null && cell.nonce().equals(nonce);
      return isRight ? null : "a word about no cell that runs";
    }

    @Override
    public boolean wants(Frames.Kind kind, int size) {
      Cell cell = current;
      return cell != null && (size == 0 || kind == Frames.Kind.DONE || cell.reserve(size));
    }

    @Override
    public @Nullable String heard(Frames.Kind kind, byte @Nullable [] body) {
      boolean isRight = take(kind, body);
      exec.section().wake();
      return isRight ? null : "a strange " + kind.word();
    }
  }

  private boolean take(Frames.Kind kind, byte @Nullable [] body) {
    Cell cell = current;
    if (kind == Frames.Kind.READY) {
      ready = true;
      return true;
    }
    // RACE: it may have been given up in the middle of the frame.
    return cell != null && take(cell, kind, body);
  }

  private static boolean take(Cell cell, Frames.Kind kind, byte @Nullable [] body) {
    return switch (kind) {
      case BEGUN -> {
        cell.begin();
        yield true;
      }
      case FORM -> body == null || cell.addForm(body);
      case DISPLAY -> {
        cell.show(false);
        yield true;
      }
      case RESULT -> {
        cell.show(true);
        yield true;
      }
      case CUT -> {
        cell.cut();
        yield true;
      }
      case ERROR -> body == null || cell.addError(body);
      case DONE -> body != null && cell.finish(new String(body, StandardCharsets.US_ASCII));
      case READY -> false;
    };
  }

  /** Not by the poller, which said it: whoever ends something may have to wait. */
  private void breakUp(String wrong) {
    broken = wrong;
    exec.section().wake();
    Thread.ofVirtual().name("ebb-broken-context").start(() -> exec.kill(Duration.ZERO));
  }

  private boolean isOver() {
    return broken != null || hungUp || exec.isOver();
  }

  // --- cells ---

  /** Has it run when all that were ordered before have. */
  public Cell submit(CellOrder order) {
    lock.lock();
    try {
      if (isOver()) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "the context has ended; restart it");
      }
      if (queue.size() >= QUEUE_MOST) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE, QUEUE_MOST + " cells wait for their turn already");
      }
      byte[] nonce = new byte[NOBODY.length() / 2];
      RANDOM.nextBytes(nonce);
      var cell = new Cell(++cells, order, HexFormat.of().formatHex(nonce), room);
      queue.add(cell);
      if (!working) {
        working = true;
        Thread.ofVirtual().name("ebb-context").start(this::work);
      }
      return cell;
    } finally {
      lock.unlock();
    }
  }

  /** Interrupts the cell that runs, which keeps the state; false: none does. */
  public boolean interrupt() {
    Cell cell = current;
    if (cell == null || cell.done != null) {
      return false;
    }
    cell.interrupts.incrementAndGet();
    exec.section().wake();
    return true;
  }

  /** Nobody waits for it any more: it leaves the queue, or it is interrupted, or ended. */
  public void cancel(Cell cell) {
    cell.cancelled = true;
    if (leaveQueue(cell)) {
      cell.end(cancelled());
    }
    exec.section().wake();
  }

  private boolean leaveQueue(Cell cell) {
    lock.lock();
    try {
      return queue.remove(cell);
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Cell next() {
    lock.lock();
    try {
      Cell cell = queue.poll();
      working = cell != null;
      return cell;
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    for (Cell cell = next(); cell != null; cell = next()) {
      Cell.Result result = ranOrNot(cell);
      // ORDER: whoever hears of its end finds the context idle.
      current = null;
      cell.end(result);
    }
  }

  private Cell.Result ranOrNot(Cell cell) {
    try {
      return cell.cancelled || isOver() ? cancelled() : run(cell);
    } catch (InterruptedException e) {
      return cancelled();
    } catch (RuntimeException e) {
      breakUp("a failure of ours: " + e);
      return result(Cell.Outcome.BROKEN, 0, Optional.empty(), Duration.ZERO);
    }
  }

  private Cell.Result cancelled() {
    return result(Cell.Outcome.CANCELLED, 0, Optional.empty(), Duration.ZERO);
  }

  private Cell.Result result(
      Cell.Outcome outcome, int status, Optional<ExitCause> cause, Duration took) {
    return new Cell.Result(outcome, status, cause, broken(), took);
  }

  private Cell.Result run(Cell cell) throws InterruptedException {
    Section section = exec.section();
    cell.run(section);
    section.wake();
    if (!await(section, () -> ready || isOver(), Deadline.in(START_PATIENCE))) {
      breakUp("nothing: the interpreter did not begin");
    }
    long begun = ProcessClock.nanos();
    current = cell;
    if (!isOver() && !line.send(cell.order().words(cell.nonce()), Deadline.in(SEND_PATIENCE))) {
      hungUp = true;
    }
    boolean isTimedOut = attend(cell, section);
    if (cell.done != null && broken == null) {
      exec.cut();
      if (!await(section, section::isOver, Deadline.in(LADDER_PATIENCE))) {
        // What init has not told by now is missing.
        cell.cut();
      }
    }
    Optional<ExitCause> cause = cell.done == null || isOver() ? end() : Optional.empty();
    return result(outcome(cell, isTimedOut), status(cell), cause, ProcessClock.since(begun));
  }

  /**
   * Waits for {@code condition}; false when the deadline came first. ORDER: what the interpreter
   * has said by then is heard before that decides.
   */
  private boolean await(Section section, BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    if (section.await(condition, deadline)) {
      return true;
    }
    var _ = exec.hearOut();
    return condition.getAsBoolean();
  }

  /** Waits for the end of the cell, or of the interpreter; true when it took too long. */
  private boolean attend(Cell cell, Section section) throws InterruptedException {
    CellOrder order = cell.order();
    Deadline deadline = Deadline.in(order.timeout().isZero() ? FOREVER : order.timeout());
    boolean isTimedOut = false;
    int asked = 0;
    int interrupts = 0;
    while (cell.done == null && !isOver()) {
      int told = interrupts;
      boolean isHurried = asked > 0;
      boolean isNews =
          await(
              section,
              () ->
                  cell.done != null
                      || isOver()
                      || (cell.begun && cell.interrupts.get() > told)
                      || (cell.cancelled && !isHurried),
              deadline);
      if (cell.begun && cell.interrupts.get() > told) {
        interrupts = cell.interrupts.get();
        interrupt(cell, section);
      } else if (asked == ASKED_MOST && !isNews) {
        exec.kill(Duration.ZERO);
        break;
      } else if (!isNews || (!isHurried && cell.cancelled)) {
        isTimedOut |= !isHurried && !isNews;
        Duration soon = order.grace().dividedBy(4);
        deadline = Deadline.in(isHurried ? order.grace().minus(soon) : soon);
        asked++;
        cell.interrupts.incrementAndGet();
      }
    }
    return isTimedOut;
  }

  /** RACE: node ends of a signal that comes right when a cell begins or first waits. */
  private void interrupt(Cell cell, Section section) throws InterruptedException {
    var left = Deadline.in(cell.untilAfterBegin(SETTLED));
    if (!await(section, () -> cell.done != null || isOver(), left)) {
      exec.signal(Signal.INT);
    }
  }

  /** How the interpreter ended; it is made to, if it only hung up. */
  private Optional<ExitCause> end() throws InterruptedException {
    Optional<ExecResult> last = exec.await(LAST_WORD);
    if (last.isEmpty()) {
      exec.kill(Duration.ZERO);
      last = exec.await(LADDER_PATIENCE);
    }
    // Its last words may be on their way.
    var _ = await(exec.section(), () -> hungUp, Deadline.in(LAST_WORD));
    last.ifPresent(result -> cause = result.cause());
    return cause();
  }

  private Cell.Outcome outcome(Cell cell, boolean isTimedOut) {
    if (isTimedOut) {
      return Cell.Outcome.TIMED_OUT;
    }
    if (broken != null) {
      return Cell.Outcome.BROKEN;
    }
    String word = cell.done;
    if (word == null) {
      return Cell.Outcome.DIED;
    }
    return switch (word) {
      case "ok", "0" -> cell.loss().isAny() ? Cell.Outcome.OUTPUT_LOST : Cell.Outcome.OK;
      case "error" -> Cell.Outcome.ERROR;
      case "interrupted" -> Cell.Outcome.INTERRUPTED;
      default -> Cell.Outcome.FAILED;
    };
  }

  private static int status(Cell cell) {
    String word = cell.done;
    return word != null && Character.isDigit(word.charAt(0)) ? Integer.parseInt(word) : 0;
  }

  /** How many cells wait for their turn. */
  public int waiting() {
    lock.lock();
    try {
      return queue.size();
    } finally {
      lock.unlock();
    }
  }
}
