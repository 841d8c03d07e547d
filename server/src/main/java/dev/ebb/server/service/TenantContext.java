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
 * A stateful interpreter in the box of a tenant: one exec at a time, which a restart replaces.
 * Thread-safe.
 */
public final class TenantContext {
  /** How long a killed interpreter may take to end. */
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(30);

  /**
   * A request for a context.
   *
   * @param spec of its exec
   */
  public record Order(Optional<String> name, Runner runner, ExecSpec spec) {}

  /** Charges what its cells show to its tenant. */
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

  /** Returns the interpreter as a command. */
  public TenantExec exec() {
    return interpreter.exec;
  }

  public Context.State state() {
    return interpreter.context.state();
  }

  /** Returns how many cells wait for their turn. */
  public int waiting() {
    return interpreter.context.waiting();
  }

  /** Returns how the interpreter broke the protocol, if it was ended for that. */
  public Optional<String> broken() {
    return interpreter.context.broken();
  }

  /** Returns how its interpreter ended. */
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

  /** A cell, and the interpreter that runs it. */
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

    /** Cancels the cell: no client waits for it any more. */
    public void cancel() {
      context.cancel(cell);
    }

    @Override
    public void close() {
      box.use();
      cell.close();
    }
  }

  /** Queues a cell behind earlier ones; the caller closes it. */
  public Ordered submit(CellOrder code) {
    box.use();
    return new Ordered(interpreter.context, code);
  }

  /** Interrupts the running cell; returns false if none runs. */
  public boolean interrupt() {
    return interpreter.context.interrupt();
  }

  boolean isIdle() {
    return state() != Context.State.BUSY;
  }

  /** Ends the interpreter and everything it started; its cells end with it. */
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

  /** Starts another interpreter. */
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

  /**
   * Restarts an interpreter that has ended; returns false if it has not, or was restarted
   * meanwhile.
   */
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
