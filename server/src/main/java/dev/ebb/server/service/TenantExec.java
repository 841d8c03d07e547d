package dev.ebb.server.service;

import dev.ebb.exec.EndedExec;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecView;
import dev.ebb.exec.Stdin;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One command of a tenant's box, from its start until it is forgotten; for an ended box, only its
 * record. Thread-safe.
 */
public final class TenantExec {
  private static final Logger LOG = System.getLogger(TenantExec.class.getName());

  private static final Duration START_PATIENCE = Duration.ofSeconds(10);

  /** The memory of each command beside its order: its objects, and its short output. */
  private static final long OVERHEAD = 12 * 1024;

  private final TenantBox box;
  private final BoxExecs list;
  private final ExecView view;
  private final TenantMemory.Claim room;
  private volatile @Nullable Ending ending;

  /** ORDER: completed when the end is known and was published to all listeners. */
  private final CompletableFuture<Ending> settled = new CompletableFuture<>();

  private final Set<Runnable> listeners = ConcurrentHashMap.newKeySet();
  private final AtomicLong killedAt = new AtomicLong();
  private final Semaphore readers = new Semaphore(Integer.MAX_VALUE);

  /** How it ended, or why it could not be started. */
  public sealed interface Ending {
    Instant at();

    record Result(ExecResult result, Instant at) implements Ending {}

    record Refused(SandboxException reason, Instant at) implements Ending {}
  }

  /** Makes a command whose record takes {@code room} until it is forgotten. */
  TenantExec(TenantBox box, BoxExecs list, Exec exec, TenantMemory.Claim room) {
    this.box = box;
    this.list = list;
    view = exec;
    this.room = room;
  }

  /** A command of a box of which only the record is left. */
  TenantExec(TenantBox box, BoxExecs list, EndedExec ended) {
    this.box = box;
    this.list = list;
    view = ended;
    room = box.claim();
    Ending how =
        ended.result().isPresent()
            ? new Ending.Result(ended.result().get(), ended.endedAt())
            : new Ending.Refused(ended.refusal().orElseGet(TenantExec::unknown), ended.endedAt());
    ending = how;
    settled.complete(how);
  }

  private static SandboxException unknown() {
    return new SandboxException(ErrorCode.INTERNAL, "it is not on record why it did not start");
  }

  /** Returns whether its processes were seen to be dead, or never began. */
  boolean isTreeDead() {
    return switch (ending) {
      case null -> false;
      case Ending.Refused _ -> true;
      case Ending.Result(var result, _) ->
          result.leftovers().kept().isEmpty()
              && !(result.cause() instanceof ExitCause.Stuck)
              && !(result.cause() instanceof ExitCause.Lost);
    };
  }

  /** Returns its record, once it has ended. */
  Optional<EndedExec> record() {
    if (view instanceof EndedExec ended) {
      return Optional.of(ended);
    }
    return ending()
        .map(
            how ->
                switch (how) {
                  case Ending.Result(var result, var at) ->
                      EndedExec.of(exec(), at, Optional.of(result), Optional.empty());
                  case Ending.Refused(var reason, var at) ->
                      EndedExec.of(exec(), at, Optional.empty(), Optional.of(reason));
                });
  }

  /** Returns its memory claim. */
  TenantMemory.Claim handRoomOver() {
    return room.handOver();
  }

  /** Returns the memory of a command with this order. */
  static long weight(ExecSpec spec) {
    return OVERHEAD
        + TenantMemory.of(spec.command())
        + TenantMemory.of(spec.environment().keySet())
        + TenantMemory.of(spec.environment().values())
        + TenantMemory.of(spec.workdir());
  }

  /** Notes that it is forgotten. */
  void giveBack() {
    room.close();
  }

  /** Waits until it runs, or its start has failed. */
  public void awaitStart() throws InterruptedException {
    // RACE: a command that could not start is over, but the thread that waits for it may be late.
    if (exec().awaitStart(START_PATIENCE) && view.pid().isEmpty()) {
      await(START_PATIENCE);
    }
  }

  /**
   * Waits for the end. One thread must do this, which then releases the resources of the command.
   *
   * @return false on a timeout
   */
  boolean awaitEnd(Duration patience) throws InterruptedException {
    try {
      Optional<ExecResult> result = exec().await(patience);
      if (result.isEmpty()) {
        return false;
      }
      end(new Ending.Result(result.get(), view.startedAt().plus(result.get().wall())));
    } catch (SandboxException e) {
      end(new Ending.Refused(e, Instant.now()));
    } catch (RuntimeException e) {
      abandon(e);
    }
    return true;
  }

  private void end(Ending how) {
    // RACE: a box whose last command has ended is idle only from then on.
    box.use();
    ending = how;
    // The record of an ended command is short.
    room.shrinkTo(weight(view.spec()));
    try {
      // ORDER: a client that waits may remove the box, whose end is published after this one.
      list.onEnded(this);
    } finally {
      settled.complete(how);
      listeners.forEach(this::runOnce);
    }
  }

  /** Notes that no thread waits for it any more. */
  void abandon(Exception reason) {
    settled.completeExceptionally(reason);
    listeners.forEach(this::runOnce);
  }

  private void runOnce(Runnable listener) {
    if (listeners.remove(listener)) {
      listener.run();
    }
  }

  /** Runs {@code listener} once when it has ended, unless the listener is removed before. */
  public void whenEnded(Runnable listener) {
    listeners.add(listener);
    if (!isRunning()) {
      runOnce(listener);
    }
  }

  public void callOff(Runnable listener) {
    listeners.remove(listener);
  }

  /**
   * Writes all of its stdin in a thread of its own, and closes it. On failure another thread waits
   * for the command.
   *
   * @param room of the bytes, released when they are written or the command has ended
   */
  public void feed(byte[] bytes, TenantMemory.Claim room) {
    if (view.stdin().isEmpty()) {
      // It has them already, in memory that is released with the command.
      whenEnded(room::close);
      return;
    }
    try {
      Stdin stdin = view.stdin().get();
      Exec exec = exec();
      Thread.ofVirtual()
          .name("ebb-input-" + box.id() + "-" + number())
          .start(() -> writeAll(exec, stdin, bytes, room));
    } catch (RuntimeException e) {
      room.close();
      box.awaitEndAsync(this);
      throw e;
    }
  }

  private static void writeAll(Exec exec, Stdin stdin, byte[] bytes, TenantMemory.Claim room) {
    try (room) {
      stdin.write(bytes, 0, bytes.length);
      exec.input().end();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Starts the kill ladder without waiting for the end. */
  public void kill(Duration grace) {
    boolean isFirst = killedAt.compareAndSet(0, System.nanoTime());
    if (view instanceof Exec exec) {
      if (isFirst && isRunning()) {
        LOG.log(
            Level.INFO,
            "event=exec_killed box={0} exec={1} tenant={2} grace_ms={3}",
            box.id(),
            Integer.toString(number()),
            box.tenant(),
            Long.toString(grace.toMillis()));
      }
      exec.kill(grace);
    }
  }

  /** Returns when it was first to be killed, in the time of {@link System#nanoTime}. */
  OptionalLong killedAt() {
    long at = killedAt.get();
    return at == 0 ? OptionalLong.empty() : OptionalLong.of(at);
  }

  /** Reads its output, which stays meanwhile even if its box is to be forgotten. */
  public void read(TenantBox.Work work) throws IOException, InterruptedException {
    if (!readers.tryAcquire()) {
      throw new SandboxException(
          ErrorCode.NOT_FOUND, "what exec " + number() + " wrote is about to be removed");
    }
    try {
      work.run();
    } finally {
      readers.release();
      if (!isRunning()) {
        // It may have been kept only for this reader.
        list.prune();
      }
    }
  }

  /** Returns true if no client reads its output; then none can begin to. */
  boolean retire() {
    return readers.tryAcquire(Integer.MAX_VALUE);
  }

  /** Waits for the readers; none can begin once they are done or on a timeout. */
  public void awaitReaders(Duration patience) throws InterruptedException {
    Deadline deadline = Deadline.in(patience);
    while (!readers.tryAcquire(
        Integer.MAX_VALUE, deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      if (deadline.isOver()) {
        readers.drainPermits();
        return;
      }
    }
  }

  public TenantBox box() {
    return box;
  }

  /** Returns the command itself, unless only its record is left. */
  public Exec exec() {
    if (view instanceof Exec exec) {
      return exec;
    }
    throw new SandboxException(
        ErrorCode.WRONG_STATE, "exec " + number() + " has ended with its box");
  }

  /** Returns the view that exists in any case. */
  public ExecView view() {
    return view;
  }

  public ExecSpec spec() {
    return view.spec();
  }

  public int number() {
    return view.number();
  }

  public Instant startedAt() {
    return view.startedAt();
  }

  public boolean isRunning() {
    return ending == null && !settled.isDone();
  }

  public Optional<Ending> ending() {
    return Optional.ofNullable(ending);
  }

  /**
   * Waits for the end; empty on a timeout. ORDER: messages of init that have arrived by then are
   * read before the timeout decides.
   */
  public Optional<Ending> awaitSurely(Duration patience) throws InterruptedException {
    Optional<Ending> known = await(patience);
    return known.isEmpty() && exec().catchUp() && exec().isOver() ? await(START_PATIENCE) : known;
  }

  /** Waits for its published end; empty on a timeout. */
  public Optional<Ending> await(Duration patience) throws InterruptedException {
    try {
      return Deadline.in(patience).await(settled);
    } catch (ExecutionException e) {
      throw new IllegalStateException("exec " + number() + " has no end", e.getCause());
    }
  }
}
