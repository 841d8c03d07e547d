package dev.ebb.mcp;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorLock;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.TenantMemory;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * One client, from its first word until it is gone. Owns the boxes that it makes: its own, which
 * comes with the first use, and any others. Thread-safe.
 */
final class Session {
  private static final Logger LOG = System.getLogger(Session.class.getName());

  /** For a client whose stream broke, to come back. */
  static final Duration COME_BACK = Duration.ofSeconds(10);

  private static final int SHOWN_ID = 8;
  private static final int EARLY_MOST = 256;

  /** What one keeps of a client: what that says of itself, and ids that it cancelled. */
  private static final long WEIGHT = 512 * 1024;

  private static final int CLIENT_LENGTH_MOST = 64;

  /** Why it ended. */
  enum End {
    /** The client said so. */
    DELETED,
    /** Nobody used it for too long. */
    IDLE,
    /** The client hung up. */
    VANISHED,
    /** The daemon goes down. */
    DRAIN;

    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final BoxRegistry boxes;
  private final InstantSource clock;
  private final McpStreamableServerSession protocol;
  private final Caller owner;
  private final String client;
  private final TenantMemory.Claim room;
  private final Instant begunAt = Instant.now();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Map<Object, Call> calls = new ConcurrentHashMap<>();

  /** Its own box, made or being made. */
  private final AtomicReference<@Nullable CompletableFuture<TenantBox>> own =
      new AtomicReference<>();

  /** All that go with it. */
  private final Set<String> made = ConcurrentHashMap.newKeySet();

  private final AtomicReference<@Nullable Listening> listening = new AtomicReference<>();
  private final AtomicReference<@Nullable End> end = new AtomicReference<>();
  private volatile boolean hasListened;
  private volatile Instant usedAt;

  /** The last ping; of the housekeeper alone. */
  private Instant askedAt;

  private final AtomicLong pings = new AtomicLong();

  private final Lock lock = DoorLock.SESSION.make();

  /** Requests that were cancelled before they came. */
  @GuardedBy("lock")
  private final Map<Object, Boolean> early =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Boolean> eldest) {
          return size() > EARLY_MOST;
        }
      };

  Session(Door.House house, McpStreamableServerSession protocol, Caller owner, String client) {
    boxes = house.boxes();
    clock = house.clock();
    usedAt = clock.instant();
    askedAt = usedAt;
    this.protocol = protocol;
    this.owner = owner;
    this.client = printable(client);
    room = boxes.memory().claim(owner.tenant(), WEIGHT);
  }

  /** It has ended, or never began. */
  void giveBack() {
    room.close();
  }

  /** What the client calls itself, as far as a terminal can bear it. */
  private static String printable(String text) {
    String clean = text.replaceAll("[^ -~]", "?");
    return clean.substring(0, Math.min(clean.length(), CLIENT_LENGTH_MOST));
  }

  String id() {
    return protocol.getId();
  }

  McpStreamableServerSession protocol() {
    return protocol;
  }

  String tenant() {
    return owner.tenant();
  }

  /** Whether it is this caller's: what is another's does not exist. */
  boolean isOf(Caller caller) {
    return owner.equals(caller);
  }

  /** Whom its tools act for: an agent is never an admin, whatever key it came with. */
  Caller agent() {
    return new Caller(owner.tenant(), false);
  }

  // --- calls ---

  /** Begins to attend to a request; false when another of its id is attended to. */
  boolean begin(Object id, Call call) {
    usedAt = clock.instant();
    if (calls.putIfAbsent(id, call) != null) {
      return false;
    }
    boolean isTooLate;
    lock.lock();
    try {
      isTooLate = early.remove(id) != null;
    } finally {
      lock.unlock();
    }
    if (isTooLate || end.get() != null) {
      call.cancel();
    }
    return true;
  }

  /** It is attended to no more, and its id is free. */
  void done(Object id, Call call) {
    // ORDER: it was used until now, whoever finds no call any more.
    usedAt = clock.instant();
    calls.remove(id, call);
  }

  void use() {
    usedAt = clock.instant();
  }

  /** RACE: what is cancelled may not have come yet, over another connection. */
  void cancel(Object id) {
    lock.lock();
    try {
      early.put(id, true);
    } finally {
      lock.unlock();
    }
    Call call = calls.get(id);
    if (call != null) {
      call.cancel();
    }
  }

  // --- its stream ---

  /** Until the client hangs up, or listens anew, or the session ends. */
  void listen(Listening stream) throws IOException, InterruptedException {
    listening.set(stream);
    hasListened = true;
    use();
    protocol.listeningStream(stream);
    try {
      do {
        stream.beat();
      } while (!ended.await(EventStream.HEARTBEAT.toMillis(), TimeUnit.MILLISECONDS)
          && listening.get() == stream
          && !boxes.isDraining());
    } finally {
      usedAt = clock.instant();
      if (listening.compareAndSet(stream, null)) {
        protocol.releaseListeningStream();
      }
    }
  }

  /** Whether this was its stream, and no other came after it. */
  boolean isListening() {
    return listening.get() != null;
  }

  /** Why it should be ended by now, if it should. */
  Optional<End> due(Instant now, Duration idle) {
    if (boxes.isDraining()) {
      return Optional.of(End.DRAIN);
    }
    if (!calls.isEmpty()) {
      return Optional.empty();
    }
    // ORDER: the last use is told before the end of what used it.
    Duration unused = Duration.between(usedAt, now);
    Listening stream = listening.get();
    if (stream != null) {
      askForLife(stream, now, unused, idle);
      return unused.compareTo(idle) > 0 ? Optional.of(End.IDLE) : Optional.empty();
    }
    if (hasListened && unused.compareTo(COME_BACK) > 0) {
      return Optional.of(End.VANISHED);
    }
    return unused.compareTo(idle) > 0 ? Optional.of(End.IDLE) : Optional.empty();
  }

  /**
   * A client that listens may be idle for as long as it lives, but it must answer a ping: its
   * answer is a use. One that is stopped keeps its stream, and answers nothing.
   */
  private void askForLife(Listening stream, Instant now, Duration unused, Duration idle) {
    boolean isDue =
        unused.compareTo(idle.dividedBy(2)) > 0
            && Duration.between(askedAt, now).compareTo(idle.dividedBy(4)) > 0;
    if (isDue) {
      askedAt = now;
      // Aside: a client that reads nothing may have no room for one more word.
      Thread.ofVirtual().name("ebb-mcp-ping-" + shown()).start(() -> ask(stream));
    }
  }

  private void ask(Listening stream) {
    try {
      stream.ping("ebb-" + pings.incrementAndGet());
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "event=mcp_ping_failed, ignoring: the stream ends", e);
    }
  }

  // --- boxes ---

  /** Its own, which must be there. */
  TenantBox own() {
    CompletableFuture<TenantBox> there = own.get();
    if (there == null || there.state() != Future.State.SUCCESS) {
      throw new SandboxException(
          ErrorCode.NOT_FOUND, "this session has no box yet: nothing was started in one");
    }
    return there.resultNow();
  }

  /** The same, which is made if there is none. */
  TenantBox own(Call call, BoxOrder order) throws IOException, InterruptedException {
    while (true) {
      var mine = new CompletableFuture<TenantBox>();
      CompletableFuture<TenantBox> first = own.compareAndExchange(null, mine);
      if (first == null) {
        return makeOwn(mine, call, order);
      }
      TenantBox there = await(first, call);
      if (there.state().isAlive()) {
        return there;
      }
      // It has died, or was removed: the next one is made.
      own.compareAndSet(first, null);
    }
  }

  private TenantBox makeOwn(CompletableFuture<TenantBox> mine, Call call, BoxOrder order)
      throws IOException, InterruptedException {
    try {
      TenantBox box = make(call, order);
      mine.complete(box);
      return box;
    } catch (IOException | InterruptedException | RuntimeException e) {
      own.compareAndSet(mine, null);
      mine.completeExceptionally(e);
      throw e;
    }
  }

  private static TenantBox await(CompletableFuture<TenantBox> first, Call call)
      throws IOException, InterruptedException {
    while (true) {
      try {
        return first.get(EventStream.HEARTBEAT.toMillis(), TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        call.requireWanted();
        call.beat();
      } catch (ExecutionException e) {
        throw e.getCause() instanceof SandboxException reason
            ? reason
            : new SandboxException(ErrorCode.SETUP_FAILED, "the box could not be made");
      }
    }
  }

  /** A box that goes with it. */
  TenantBox make(Call call, BoxOrder order) throws IOException, InterruptedException {
    dropRemoved();
    TenantBox box =
        boxes.create(agent(), order, Optional.empty(), empty -> {}, call::hasLeft).box();
    made.add(box.id());
    if (end.get() != null) {
      // RACE: the end may have looked before this one was listed.
      release(box.id());
      throw new Call.Cancelled();
    }
    return box;
  }

  boolean owns(TenantBox box) {
    return made.contains(box.id());
  }

  /** Removes a box that it made, or answers again what became of one that was removed. */
  BoxRegistry.Removal remove(String word, boolean wait) throws InterruptedException {
    Optional<TenantBox> box = boxes.listed(agent(), word);
    if (box.isPresent() && !owns(box.get())) {
      throw new Problem(
          Problem.Code.FORBIDDEN, "box " + box.get().id() + " was not made in this session");
    }
    var removal = boxes.remove(agent(), box.map(TenantBox::id).orElse(word), true, wait);
    box.ifPresent(this::replace);
    dropRemoved();
    return removal;
  }

  /** Those that were removed; one that is being removed may be asked for again. */
  private void dropRemoved() {
    made.removeIf(id -> boxes.listed(agent(), id).isEmpty());
  }

  /** The next call that needs the box of the session makes a new one. */
  private void replace(TenantBox box) {
    CompletableFuture<TenantBox> mine = own.get();
    if (mine != null
        && mine.state() == Future.State.SUCCESS
        && mine.resultNow().id().equals(box.id())) {
      own.compareAndSet(mine, null);
    }
  }

  private Optional<Certificate> release(String id) throws InterruptedException {
    Optional<TenantBox> box = boxes.listed(agent(), id);
    if (!made.remove(id) || box.isEmpty()) {
      return Optional.empty();
    }
    Certificate certificate = boxes.remove(box.get(), true);
    var data = describe("released");
    data.put("box", id);
    data.put("clean", certificate.isClean());
    data.put("certificate", certificate.toString());
    boxes.events().publish(tenant(), "mcp", data);
    return Optional.of(certificate);
  }

  // --- its end ---

  void begun() {
    boxes.events().publish(tenant(), "mcp", describe("begun"));
  }

  /** Ends what it runs and what it made; once. The certificates of its boxes. */
  List<Certificate> end(End reason) throws InterruptedException {
    if (!end.compareAndSet(null, reason)) {
      return List.of();
    }
    ended.countDown();
    calls.values().forEach(Call::cancel);
    var certificates = new ArrayList<Certificate>();
    for (String id : made) {
      release(id).ifPresent(certificates::add);
    }
    protocol.close();
    giveBack();
    var data = describe("ended");
    data.put("reason", reason.wireName());
    boxes.events().publish(tenant(), "mcp", data);
    return certificates;
  }

  private Map<String, Object> describe(String state) {
    var data = new LinkedHashMap<String, Object>();
    data.put("session", shown());
    data.put("state", state);
    return data;
  }

  /** Enough to tell it from others, and too little to speak in its name. */
  String shown() {
    return id().substring(0, Math.min(SHOWN_ID, id().length()));
  }

  /** As its operator sees it. */
  DoorSessions.Entry seen() {
    List<String> ids = made.stream().sorted().toList();
    return new DoorSessions.Entry(
        shown(), tenant(), client, begunAt, calls.size(), isListening(), ids);
  }

  Map<String, String> labels() {
    return Map.of("mcp-session", shown(), "mcp-client", client);
  }
}
