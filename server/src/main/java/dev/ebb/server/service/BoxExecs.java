package dev.ebb.server.service;

import dev.ebb.box.Box;
import dev.ebb.exec.EndedExec;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolItem;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.TenantMemory;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The commands of one box by number: those that run, and a bounded history of those that have
 * ended. Thread-safe.
 */
final class BoxExecs {
  private static final Logger LOG = System.getLogger(BoxExecs.class.getName());

  /** How many commands that have ended are remembered. */
  private static final int ENDED_KEPT = 100;

  /** How many more are kept while a client reads their output. */
  private static final int READ_KEPT = 100;

  private static final Duration LAST_PATIENCE = Duration.ofSeconds(2);
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private final TenantBox box;
  private final BoxMaking making;
  private final BoxNews news;
  private final Metrics metrics;
  private final NavigableMap<Integer, TenantExec> execs = new ConcurrentSkipListMap<>();

  /** The ended commands in order of their ends; some may be forgotten already. */
  private final Queue<TenantExec> ended = new ConcurrentLinkedQueue<>();

  private final AtomicInteger endedCount = new AtomicInteger();

  BoxExecs(TenantBox box, BoxMaking making, BoxNews news, Metrics metrics) {
    this.box = box;
    this.making = making;
    this.news = news;
    this.metrics = metrics;
  }

  List<TenantExec> all() {
    return List.copyOf(execs.values());
  }

  List<TenantExec> running() {
    return execs.values().stream().filter(TenantExec::isRunning).toList();
  }

  long runningCount() {
    return execs.values().stream().filter(TenantExec::isRunning).count();
  }

  TenantExec require(int number) {
    TenantExec exec = execs.get(number);
    if (exec == null) {
      throw new SandboxException(
          ErrorCode.NOT_FOUND, "box " + box.id() + " knows no exec " + number + ", or no longer");
    }
    return exec;
  }

  /**
   * Starts a command whose end the caller awaits.
   *
   * @param input its complete input, for {@link TenantExec#feed}
   */
  TenantExec start(ExecSpec spec, Optional<byte[]> input) throws InterruptedException {
    TenantMemory.Claim claim = box.claim(TenantExec.weight(spec));
    TenantExec exec;
    try {
      Optional<PoolItem> waiting = making.waitingFor(spec);
      Exec started = waiting.isPresent() ? waiting.get().begin() : begin(spec, input);
      exec = new TenantExec(box, this, started, claim);
    } catch (InterruptedException | RuntimeException e) {
      claim.close();
      throw e;
    }
    // ORDER: a client that receives the event finds the command.
    execs.put(exec.number(), exec);
    news.publishStart(exec);
    return exec;
  }

  /** A detached box may outlive the writer of a pipe, so its command has all input at once. */
  private Exec begin(ExecSpec spec, Optional<byte[]> input) {
    Box made = making.await();
    boolean isPlain = spec.kind() instanceof ExecKind.Command;
    return input.isPresent() && isPlain && made.isDetached()
        ? Exec.start(made, spec, input.get())
        : Exec.start(made, spec);
  }

  /** Lists a command of the previous daemon, and awaits its end. */
  void adopt(Exec found) {
    long bytes = TenantExec.weight(found.spec());
    TenantMemory.Claim claim = box.claim();
    if (!claim.tryAdd(bytes)) {
      LOG.log(Level.DEBUG, "event=adopted_beyond_share box=" + box.id() + " bytes=" + bytes);
    }
    var exec = new TenantExec(box, this, found, claim);
    execs.put(exec.number(), exec);
    awaitEndAsync(exec);
  }

  /** Lists a command of a box of which only the record is left. */
  void remember(EndedExec ended) {
    execs.put(ended.number(), new TenantExec(box, this, ended));
  }

  /** Starts a thread that waits for the end of a command. */
  void awaitEndAsync(TenantExec exec) {
    Thread.ofVirtual()
        .name("ebb-exec-" + box.id() + "-" + exec.number())
        .start(
            () -> {
              try {
                exec.awaitEnd(FOREVER);
              } catch (InterruptedException e) {
                exec.abandon(e);
              }
            });
  }

  /**
   * Waits this long for the end of a command, then starts a thread that waits on. Most commands end
   * soon, so no thread has to wake another.
   */
  Optional<TenantExec.Ending> awaitEnd(TenantExec exec, Duration patience)
      throws InterruptedException {
    boolean hasEnded = false;
    try {
      hasEnded = exec.awaitEnd(patience);
    } finally {
      if (!hasEnded) {
        awaitEndAsync(exec);
      }
    }
    return exec.ending();
  }

  /** Publishes and counts the end of a command, and forgets the oldest. */
  void onEnded(TenantExec exec) {
    var data = new LinkedHashMap<String, Object>();
    if (exec.ending().orElse(null) instanceof TenantExec.Ending.Result(var result, _)) {
      data.put("status", result.cause().status());
      metrics.ended(result.cause().status(), result.wall());
      exec.killedAt().ifPresent(at -> metrics.killed(Duration.ofNanos(System.nanoTime() - at)));
      data.put("exitCode", result.cause().code());
    }
    news.publishEnd(exec, data);
    ended.add(exec);
    endedCount.incrementAndGet();
    prune();
  }

  /** Runs the kill ladder on every running command, all at once. */
  List<TenantExec> killAll(Duration grace) {
    List<TenantExec> running = running();
    running.forEach(exec -> exec.kill(grace));
    return running;
  }

  /** Runs the kill ladder and waits for the ends, no longer than grace and slack. */
  void endAll(Duration grace, Duration slack) throws InterruptedException {
    List<TenantExec> killed = killAll(grace);
    Deadline deadline = Deadline.in(grace.plus(slack));
    for (TenantExec exec : killed) {
      exec.awaitSurely(Duration.ofNanos(deadline.remainingNanos()));
    }
  }

  /** RACE: commands end with their box, but the thread that waits for one may be late. */
  void awaitLast() throws InterruptedException {
    for (TenantExec exec : running()) {
      exec.await(LAST_PATIENCE);
    }
  }

  /** Returns the records of the ended commands. */
  List<EndedExec> records() {
    return execs.values().stream().flatMap(exec -> exec.record().stream()).toList();
  }

  /** Returns the memory claim of all commands, now for their records. */
  List<TenantMemory.Claim> handRoomOver() {
    return execs.values().stream().map(TenantExec::handRoomOver).toList();
  }

  /** Releases the memory of all commands. */
  void giveBack() {
    execs.values().forEach(TenantExec::giveBack);
  }

  // --- history ---

  /**
   * Forgets the commands that ended first, except, up to a bound, those whose output is being read.
   */
  void prune() {
    if (endedCount.get() <= ENDED_KEPT) {
      return;
    }
    for (TenantExec oldest : List.copyOf(ended)) {
      int excess = endedCount.get() - ENDED_KEPT;
      if (excess <= 0) {
        return;
      }
      // RACE: other threads prune as well; the thread that removes a command from the list forgets
      // it.
      if ((oldest.retire() || excess > READ_KEPT) && ended.remove(oldest)) {
        endedCount.decrementAndGet();
        forgetOrLog(oldest);
      }
    }
  }

  /** Forgets all ended commands whose output is not being read, to make room. */
  void forgetEnded() {
    for (int left = endedCount.get(); left > 0; left--) {
      TenantExec oldest = ended.poll();
      if (oldest == null) {
        return;
      }
      if (oldest.retire()) {
        endedCount.decrementAndGet();
        forgetOrLog(oldest);
      } else {
        ended.add(oldest);
      }
    }
  }

  /** A failure is logged: it must not keep the end of another command from being handled. */
  private void forgetOrLog(TenantExec oldest) {
    try {
      forget(oldest);
    } catch (SandboxException e) {
      LOG.log(
          Level.WARNING,
          "event=exec_not_forgotten box=%s exec=%d".formatted(box.id(), oldest.number()),
          e);
    }
  }

  /** Forgets one command that has ended, with its output. */
  void forget(TenantExec exec) {
    if (execs.remove(exec.number()) != null) {
      exec.giveBack();
      exec.exec().close();
    }
  }
}
