package dev.ebb.code;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.exec.Exec;
import dev.ebb.exec.RunnerSocket;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An interpreter in a box that runs one cell after the other, and keeps its state between them.
 * Thread-safe. The owner of its exec awaits and ends that exec.
 *
 * <p>Orders and answers go through the {@link RunnerSocket} of the exec, the output of the code
 * through its logs. Each answer bears the nonce of its cell: any other message breaks this context,
 * and only this one.
 */
public final class Context {
  /** How many cells may wait for their turn. */
  private static final int QUEUE_MOST = 100;

  private static final SecureRandom RANDOM = new SecureRandom();

  /** The activity of a context. */
  public enum State {
    STARTING,
    IDLE,
    BUSY,
    ENDED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final RunnerSession session;
  private final ShowRoom room;
  private final OrderedLock lock = new OrderedLock(LockOrder.CONTEXT);

  @GuardedBy("lock")
  private final Deque<Cell> queue = new ArrayDeque<>();

  @GuardedBy("lock")
  private boolean working;

  @GuardedBy("lock")
  private int cells;

  private Context(RunnerSession session, ShowRoom room) {
    this.session = session;
    this.room = room;
  }

  /** Makes a context of an exec that was started for it. */
  public static Context of(Exec exec, Runner runner) {
    return of(exec, runner, ShowRoom.OF_PROCESS);
  }

  /** Starts a context; {@code room} bounds what its cells show. */
  public static Context of(Exec exec, Runner runner, ShowRoom room) {
    var session = new RunnerSession(exec);
    session.begin(runner);
    return new Context(session, room);
  }

  public State state() {
    if (session.isOver()) {
      return State.ENDED;
    }
    if (session.current() != null) {
      return State.BUSY;
    }
    return session.isReady() ? State.IDLE : State.STARTING;
  }

  /** Returns how it broke the protocol, if it was ended for that. */
  public Optional<String> broken() {
    return session.broken();
  }

  /**
   * Returns how the interpreter ended. ORDER: known before the end of the cell that it ended in.
   */
  public Optional<ExitCause> cause() {
    return session.cause();
  }

  /** Queues a cell behind earlier ones. */
  public Cell submit(CellOrder order) {
    lock.lock();
    try {
      if (session.isOver()) {
        throw new SandboxException(ErrorCode.WRONG_STATE, "the context has ended; restart it");
      }
      if (queue.size() >= QUEUE_MOST) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE, QUEUE_MOST + " cells wait for their turn already");
      }
      byte[] nonce = new byte[RunnerSession.NO_NONCE.length() / 2];
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

  /** Interrupts the running cell, and keeps the state; returns false if none runs. */
  public boolean interrupt() {
    Cell cell = session.current();
    if (cell == null || cell.done != null) {
      return false;
    }
    cell.interrupts.incrementAndGet();
    session.wake();
    return true;
  }

  /** Cancels a cell: removes it from the queue, interrupts it, or ends the interpreter. */
  public void cancel(Cell cell) {
    cell.cancelled = true;
    if (leaveQueue(cell)) {
      cell.end(cancelled());
    }
    session.wake();
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
      // ORDER: at the end of a cell the context is idle.
      session.release();
      cell.end(result);
    }
  }

  private Cell.Result ranOrNot(Cell cell) {
    try {
      return cell.cancelled || session.isOver()
          ? cancelled()
          : new RunningCell(session, cell).run();
    } catch (InterruptedException e) {
      return cancelled();
    } catch (RuntimeException e) {
      session.breakUp("a failure of ours: " + e);
      return notRun(Cell.Outcome.BROKEN);
    }
  }

  private Cell.Result cancelled() {
    return notRun(Cell.Outcome.CANCELLED);
  }

  private Cell.Result notRun(Cell.Outcome outcome) {
    return new Cell.Result(outcome, 0, Optional.empty(), broken(), Duration.ZERO);
  }

  /** Returns how many cells wait for their turn. */
  public int waiting() {
    lock.lock();
    try {
      return queue.size();
    } finally {
      lock.unlock();
    }
  }
}
