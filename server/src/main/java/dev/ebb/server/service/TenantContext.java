package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.code.Cell;
import dev.ebb.code.Context;
import dev.ebb.code.Runner;
import dev.ebb.code.ShowRoom;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.TenantMemory;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * A stateful interpreter of a served box: one exec at a time, which a restart replaces.
 * Thread-safe.
 */
public final class TenantContext {
  /** Of an interpreter that is killed. */
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(30);

  /**
   * What is wanted.
   *
   * @param spec of its exec
   */
  public record Order(Optional<String> name, Runner runner, ExecSpec spec) {}

  /** What its cells show is kept for its tenant. */
  private record TenantRoom(TenantMemory.Claim claim) implements ShowRoom {
    @Override
    public boolean take(long bytes) {
      return claim.tryAdd(bytes);
    }

    @Override
    public void giveBack(long bytes) {
      claim.giveBackSome(bytes);
    }
  }

  private record Interpreter(TenantExec exec, Context context) {}

  private final TenantBox box;
  private final String id;
  private final Order order;
  private final Instant createdAt = Instant.now();
  private final OrderedLock restarting = new OrderedLock(LockOrder.CONTEXT_RESTART);

  @GuardedBy("restarting")
  private boolean isRemoved;

  private volatile Interpreter interpreter;

  TenantContext(TenantBox box, String id, Order order, TenantExec exec) {
    this.box = box;
    this.id = id;
    this.order = order;
    interpreter = interpreter(exec);
  }

  private Interpreter interpreter(TenantExec exec) {
    return new Interpreter(
        exec, Context.of(exec.exec(), order.runner(), new TenantRoom(box.claim())));
  }

  public TenantBox box() {
    return box;
  }

  public String id() {
    return id;
  }

  public Optional<String> name() {
    return order.name();
  }

  public Order order() {
    return order;
  }

  public Instant createdAt() {
    return createdAt;
  }

  /** The interpreter, as the command that it is. */
  public TenantExec exec() {
    return interpreter.exec;
  }

  public Context.State state() {
    return interpreter.context.state();
  }

  /** How many cells wait for their turn. */
  public int waiting() {
    return interpreter.context.waiting();
  }

  /** Why it was ended, if for what it said. */
  public Optional<String> broken() {
    return interpreter.context.broken();
  }

  /** How its interpreter ended. */
  public Optional<ExitCause> cause() {
    Interpreter now = interpreter;
    // RACE: a cell may know it before the thread that waits for the exec.
    return now.context.cause().or(() -> now.exec.ending().flatMap(TenantContext::cause));
  }

  private static Optional<ExitCause> cause(TenantExec.Ending ending) {
    return ending instanceof TenantExec.Ending.Result(var end, _)
        ? Optional.of(end.cause())
        : Optional.empty();
  }

  /** A cell, and the interpreter that it is for. */
  public final class Ordered implements AutoCloseable {
    private final Context context;
    private final Cell cell;

    private Ordered(Context context, CellOrder code) {
      this.context = context;
      cell = context.submit(code);
    }

    public Cell cell() {
      return cell;
    }

    /** No client waits for it any more. */
    public void cancel() {
      context.cancel(cell);
    }

    @Override
    public void close() {
      box.use();
      cell.close();
    }
  }

  /** Has it run after all that were ordered before; to be closed. */
  public Ordered submit(CellOrder code) {
    box.use();
    return new Ordered(interpreter.context, code);
  }

  /** False when no cell runs. */
  public boolean interrupt() {
    return interpreter.context.interrupt();
  }

  boolean isIdle() {
    return state() != Context.State.BUSY;
  }

  /** Ends the interpreter with all that it started; its cells end with it. */
  public void end() throws InterruptedException {
    TenantExec exec = exec();
    exec.kill(Duration.ZERO);
    exec.awaitSurely(KILL_PATIENCE);
  }

  /** Ends the interpreter for good: no other is started after it. */
  void endForGood() throws InterruptedException {
    restarting.lockInterruptibly();
    try {
      isRemoved = true;
      end();
    } finally {
      restarting.unlock();
    }
  }

  /** How another interpreter is had. */
  interface Start {
    TenantExec start() throws InterruptedException;
  }

  void restart(Start start) throws InterruptedException {
    restarting.lockInterruptibly();
    try {
      if (isRemoved) {
        throw new SandboxException(ErrorCode.NOT_FOUND, "context " + id() + " was removed");
      }
      end();
      interpreter = interpreter(start.start());
    } finally {
      restarting.unlock();
    }
  }

  /** Restarts one that has ended; false: it has not, or was restarted meanwhile. */
  boolean revive(Start start) throws InterruptedException {
    restarting.lockInterruptibly();
    try {
      boolean hasEnded = state() == Context.State.ENDED;
      if (hasEnded) {
        restart(start);
      }
      return hasEnded;
    } finally {
      restarting.unlock();
    }
  }
}
