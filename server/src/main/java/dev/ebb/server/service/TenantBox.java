package dev.ebb.server.service;

import dev.ebb.box.Box;
import dev.ebb.box.BoxEnd;
import dev.ebb.egress.Decision;
import dev.ebb.engine.Engine;
import dev.ebb.engine.PastBoxes;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FileEntry;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolItem;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * One box of a tenant, from its order until it has ended; after that, the view of its record.
 * Thread-safe.
 */
public final class TenantBox {
  private static final Duration DEADLINE_SLACK = Duration.ofSeconds(10);
  private static final Duration LADDER_SLACK = Duration.ofSeconds(10);
  private static final Duration DRAIN_SLACK = Duration.ofSeconds(1);

  private final Facilities facilities;

  /** The memory claim for its order. */
  private final TenantMemory.Claim room;

  private final BoxId id;
  private final BoxNote note;
  private final BoxMaking making;
  private final BoxTimes times;
  private final BoxEnding ending = new BoxEnding();
  private final RecordNumber number = new RecordNumber();
  private final BoxNews news;
  private final BoxExecs execs;
  private final BoxContexts contexts = new BoxContexts(this);
  private volatile ByteSize fileSize = Caps.ANY_SIZE;
  private volatile BoxState state = BoxState.CREATING;
  private volatile boolean isUnlisted;

  /** A pooled box; if {@code warm} is empty, a box still to be made. */
  TenantBox(Facilities facilities, BoxNote note, Optional<PoolItem> warm) {
    this(
        facilities,
        warm.map(item -> item.box().id()).orElseGet(facilities.engine()::newId),
        note,
        new BoxMaking(warm));
  }

  TenantBox(Facilities facilities, BoxId id, BoxNote note, BoxMaking making) {
    this.facilities = facilities;
    this.id = id;
    this.note = note;
    this.making = making;
    times = new BoxTimes(note.order(), note.createdAt());
    room = facilities.memory().claim(note.tenant());
    news = new BoxNews(facilities, this);
    execs = new BoxExecs(this, making, news, facilities.metrics());
  }

  /** An ended box, restored from its record. */
  static TenantBox of(Facilities facilities, EndedBox ended) {
    var box = new TenantBox(facilities, ended.id(), ended.note(), BoxMaking.ofEnded(ended));
    box.state = ended.state();
    box.ending.adopt(ended);
    ended.execs().forEach(box.execs::remember);
    return box;
  }

  /** Returns whether only its record is left. */
  boolean isPast() {
    return making.hasEnded();
  }

  BoxNote note() {
    return note;
  }

  RecordNumber number() {
    return number;
  }

  /** Returns its record with the memory claims; empty while it or one of its commands goes on. */
  Optional<BoxList.Ended> record() {
    Optional<BoxEnd> end = ending.end();
    if (isPast() || state != BoxState.GONE || end.isEmpty() || running() > 0) {
      return Optional.empty();
    }
    BoxNote last = note.asMade(network(), backend());
    var record =
        new EndedBox(id, last, end.get(), execs.records(), PastBoxes.NONE, Optional.empty());
    return Optional.of(new BoxList.Ended(record, room.handOver(), execs.handRoomOver()));
  }

  /** Claims memory for its order, or throws. */
  void claimRoom() {
    room.add(order().weight());
  }

  /** Releases its memory: it is forgotten. */
  void giveBack() {
    room.close();
    execs.giveBack();
  }

  /** Bounds the size of files that are written or read. */
  void capFiles(ByteSize most) {
    fileSize = most;
  }

  public BoxFiles files() {
    return new BoxFiles(box(), fileSize);
  }

  /** Returns the memory of its tenant. */
  public TenantMemory.Claim claim() {
    return facilities.memory().claim(tenant());
  }

  /** Claims memory of its tenant, or throws. */
  TenantMemory.Claim claim(long bytes) {
    return facilities.memory().claim(tenant(), bytes);
  }

  /** Takes over the state that the previous daemon recorded. */
  void adopt(Optional<BoxEnd> end, List<Exec> found) {
    // An existing box cannot be refused.
    room.tryAdd(order().weight());
    end.ifPresent(ending::adopt);
    found.forEach(execs::adopt);
  }

  /** Follows the changes of its box from now on. */
  void listen(Runnable whenLost) {
    BoxState found = box().listen(next -> changed(next, whenLost));
    state = found;
    if (found == BoxState.LOST) {
      ending.replaceReason(byItself());
      changed(found, whenLost);
    }
  }

  /** Returns the reason for an end without a request: init ends a box at its deadline. */
  private EndedBy byItself() {
    return order().detached() && isOverdue(Instant.now()) ? EndedBy.TTL : EndedBy.DIED;
  }

  /** Makes the box; {@code whenLost} runs when it has died by itself. */
  void make(Runnable whenLost) {
    // A pooled box may have waited for long; that does not count as idle time.
    use();
    making.make(facilities, id, order(), next -> changed(next, whenLost));
  }

  void detachIfOrdered() {
    if (order().detached()) {
      // A running daemon must end it before init does.
      var endsAt = order().ttl().map(ttl -> createdAt().plus(ttl).plus(DEADLINE_SLACK));
      box().detach(endsAt, note.fields());
    }
  }

  /** Returns the pooled box of a refused order, once. */
  Optional<PoolItem> takeUnused() {
    return making.takeUnused();
  }

  /** Returns the entry of its first file, if init could write it. */
  Optional<FileEntry> placed() {
    return making.placed();
  }

  /** Notes that it will never be made. */
  void fail(SandboxException reason) {
    making.fail(reason);
  }

  BoxEnding ending() {
    return ending;
  }

  /** Called for each change of state, in order; must not block. */
  private void changed(BoxState next, Runnable whenLost) {
    if (next == BoxState.RUNNING) {
      // ORDER: before a client sees it run. Time in which it is made or paused is not idle time.
      use();
    }
    if (next == BoxState.GONE || next == BoxState.STUCK) {
      // ORDER: a client that sees its end finds the proof.
      making.made().flatMap(Box::certificate).ifPresent(ending::prove);
    }
    if (next == BoxState.GONE) {
      ending.isGone();
    }
    state = next;
    if (next == BoxState.STUCK || next == BoxState.LOST) {
      ending.retryLater();
    }
    news.publish(next);
    if (next == BoxState.LOST) {
      ending.firstReason(byItself());
      Thread.ofVirtual().name("ebb-lost-" + id).start(whenLost);
    }
  }

  public String id() {
    return id.value();
  }

  public String tenant() {
    return note.tenant();
  }

  public BoxOrder order() {
    return note.order();
  }

  public BoxState state() {
    return state;
  }

  public Instant createdAt() {
    return note.createdAt();
  }

  public Optional<BoxRegistry.Idempotency> idempotency() {
    return note.idempotency();
  }

  public Optional<Instant> endedAt() {
    return ending.at();
  }

  public Optional<EndedBy> endedBy() {
    return ending.by();
  }

  public Optional<Certificate> certificate() {
    return ending.certificate();
  }

  public List<TenantExec> execs() {
    return execs.all();
  }

  public TenantExec exec(int number) {
    return execs.require(number);
  }

  public long running() {
    return execs.runningCount();
  }

  /** Returns whether every process tree in it was seen to be dead. */
  boolean isQuiet() {
    return execs.all().stream().allMatch(TenantExec::isTreeDead);
  }

  /** Returns the box of the engine; waits until it is made. */
  public Box box() {
    return making.await();
  }

  /** Returns its specification, with later changes. */
  public Network network() {
    return making.made().map(box -> box.spec().network()).orElse(order().spec().network());
  }

  /** Returns the backend that made it or will make it; empty if unknown or not recorded. */
  public Optional<String> backend() {
    return making.made().flatMap(box -> box.footprint().backend()).or(order().spec()::backend);
  }

  /** Changes the hosts it may reach; connections that are no longer allowed are closed. */
  public void changeNetwork(Network wanted) throws InterruptedException {
    box().changeNetwork(wanted);
    use();
    news.publish(wanted);
  }

  /** Publishes a request to its proxy, unless there were too many recently. */
  void publish(Decision decision) {
    news.publish(decision);
  }

  /** Notes that a request uses it now. */
  public void use() {
    times.use();
  }

  /** Work that takes time. */
  public interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** Does work with it; it is not idle meanwhile. */
  public void use(Work work) throws IOException, InterruptedException {
    times.use(work);
  }

  /** Starts a command, which need not run yet. */
  public TenantExec start(ExecSpec spec) throws InterruptedException {
    TenantExec exec = startUnawaited(spec, Optional.empty());
    awaitEndAsync(exec);
    return exec;
  }

  /**
   * Starts a command whose end the caller awaits.
   *
   * @param input its complete input, for {@link TenantExec#feed}
   */
  public TenantExec startUnawaited(ExecSpec spec, Optional<byte[]> input)
      throws InterruptedException {
    use();
    return execs.start(spec, input);
  }

  /** Starts a thread that waits for the end of a command. */
  public void awaitEndAsync(TenantExec exec) {
    execs.awaitEndAsync(exec);
  }

  /** Waits this long for the end of a command, then starts a thread that waits on. */
  public Optional<TenantExec.Ending> awaitEnd(TenantExec exec, Duration patience)
      throws InterruptedException {
    return execs.awaitEnd(exec, patience);
  }

  /** Forgets all ended commands whose output is not being read, to make room. */
  void forgetEnded() {
    execs.forgetEnded();
  }

  // --- contexts ---

  /** Returns the contexts that were not removed, the oldest first. */
  public List<TenantContext> contexts() {
    return contexts.all();
  }

  /** Finds a context by id or by name. */
  public TenantContext context(String word) {
    return contexts.require(word);
  }

  /** Makes contexts one at a time, so that no two get one name. */
  TenantContext newContext(TenantContext.Order what, TenantContext.Start start)
      throws InterruptedException {
    return contexts.create(what, start);
  }

  /** Ends a context and forgets it. */
  public void remove(TenantContext context) throws InterruptedException {
    context.endForGood();
    contexts.forget(context);
    execs.forget(context.exec());
  }

  /** Runs the kill ladder on all running commands concurrently. */
  public List<TenantExec> killAll(Duration grace) {
    return execs.killAll(grace);
  }

  /**
   * Ends it: commands by the ladder, then the box. A repeated call returns the same certificate, or
   * retries what was stuck.
   */
  public Certificate end(Duration grace, EndedBy by) throws InterruptedException {
    if (isPast()) {
      // Its output is no part of it, and is removed when it is forgotten.
      return ending.certificate().filter(Certificate::isClean).orElse(EndedBox.nothing(id));
    }
    Box box = box();
    EndedBy first = ending.firstReason(by);
    if (grace.isPositive() && state == BoxState.RUNNING) {
      // A daemon that stops kills the rest with the box.
      Duration slack = by == EndedBy.DRAIN ? DRAIN_SLACK : LADDER_SLACK;
      execs.endAll(grace, slack);
    }
    boolean isAgain = state == BoxState.GONE;
    Certificate proof = facilities.engine().stop(box, BoxEnding.note(first));
    if (!isAgain) {
      facilities.metrics().released(proof.took(), proof.isClean());
      if (proof.isClean()) {
        execs.awaitLast();
      }
    }
    return proof;
  }

  /** Removes its output; if that fails, the box is stuck and is retried. */
  Certificate forget() {
    Engine engine = facilities.engine();
    return isPast() ? engine.forget(id).orElse(EndedBox.nothing(id)) : engine.forget(box());
  }

  /** Returns when its time to live is over. */
  public Optional<Instant> expiresAt() {
    return times.expiresAt();
  }

  /** Handles everything that init has sent until now, before the box is ended at a deadline. */
  void catchUp() throws InterruptedException {
    var _ = facilities.engine().catchUp();
  }

  /** Notes that it is no longer listed. */
  void unlisted() {
    isUnlisted = true;
  }

  /** Returns the failure to report for failed work with it, if its end is the reason. */
  public RuntimeException meanwhile(RuntimeException failure) {
    return EndRace.explain(this, making, isUnlisted, failure);
  }

  boolean isOverdue(Instant now) {
    return times.isOverdue(now);
  }

  /** Returns whether it is not in use and its order ends an idle box. */
  boolean mayEndIdle() {
    return execs.running().stream().allMatch(contexts::isWaiting)
        && !times.isBeingUsed()
        && order().idleTimeout().isPresent();
  }

  long usedAt() {
    return times.usedAt();
  }

  boolean isIdle() {
    return mayEndIdle() && times.isIdle();
  }
}
