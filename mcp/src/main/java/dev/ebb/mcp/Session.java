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
import dev.ebb.server.service.access.Role;
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
 * One client, from its first message until it is gone. Owns the boxes that it makes: its own box,
 * which is made at the first use, and any others. Thread-safe.
 */
final class Session {
  private static final Logger LOG = System.getLogger(Session.class.getName());

  /** How long a client whose stream broke has to reconnect. */
  static final Duration COME_BACK = Duration.ofSeconds(10);

  private static final int SHOWN_ID = 8;
  private static final int EARLY_MOST = 256;

  /** The memory of a session: the client's description of itself, and ids that it cancelled. */
  private static final long WEIGHT = 512 * 1024;

  private static final int CLIENT_LENGTH_MOST = 64;

  /** The reason for its end. */
  enum End {
    /** The client ended it. */
    DELETED,
    /** It was unused for too long. */
    IDLE,
    /** The client disconnected. */
    VANISHED,
    /** The daemon stops. */
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

  /** All boxes that end with the session. */
  private final Set<String> made = ConcurrentHashMap.newKeySet();

  private final AtomicReference<@Nullable Listening> listening = new AtomicReference<>();
  private final AtomicReference<@Nullable End> end = new AtomicReference<>();
  private volatile boolean hasListened;
  private volatile Instant usedAt;

  /** The last ping; used only by the housekeeper. */
  private Instant askedAt;

  private final AtomicLong pings = new AtomicLong();

  private final Lock lock = DoorLock.SESSION.make();

  /** Requests that were cancelled before they arrived. */
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

  /** Returns whether it has ended or never began. */
  void giveBack() {
    room.close();
  }

  /** Returns the name of the client, with characters that are safe for a terminal. */
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

  /** Returns whether it belongs to this caller; sessions of others count as absent. */
  boolean isOf(Caller caller) {
    return owner.equals(caller);
  }

  /** Returns the caller for its tools: an agent is never an admin, even with an admin key. */
  Caller agent() {
    return new Caller(owner.tenant(), Role.USER);
  }

  // --- calls ---

  /** Begins to handle a request; returns false if another one with its id is being handled. */
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

  /** Ends the handling of a request; its id is free again. */
  void done(Object id, Call call) {
    // ORDER: the time of use is set before the call is removed, so that an idle check sees it.
    usedAt = clock.instant();
    calls.remove(id, call);
  }

  void use() {
    usedAt = clock.instant();
  }

  /** RACE: the cancelled request may still be on its way, over another connection. */
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

  /** Holds the stream until the client disconnects, listens again, or the session ends. */
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

  /** Returns whether this was its stream, and no other replaced it. */
  boolean isListening() {
    return listening.get() != null;
  }

  /** Returns the reason to end it now, if there is one. */
  Optional<End> due(Instant now, Duration idle) {
    if (boxes.isDraining()) {
      return Optional.of(End.DRAIN);
    }
    if (!calls.isEmpty()) {
      return Optional.empty();
    }
    // ORDER: a call updates the last use before it is removed, so the calls are read first.
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
   * A listening client may be idle for any time, but must answer a ping, which counts as use. A
   * stopped client keeps its stream and does not answer.
   */
  private void askForLife(Listening stream, Instant now, Duration unused, Duration idle) {
    boolean isDue =
        unused.compareTo(idle.dividedBy(2)) > 0
            && Duration.between(askedAt, now).compareTo(idle.dividedBy(4)) > 0;
    if (isDue) {
      askedAt = now;
      // In a separate thread, because a client that reads nothing may block the write.
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

  /** Returns its own box, which must exist. */
  TenantBox own() {
    CompletableFuture<TenantBox> there = own.get();
    if (there == null || there.state() != Future.State.SUCCESS) {
      throw new SandboxException(
          ErrorCode.NOT_FOUND, "this session has no box yet: nothing was started in one");
    }
    return there.resultNow();
  }

  /** Returns its own box, and makes it if there is none. */
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
      // It has died or was removed, so a new one is made.
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

  /** Makes a box that ends with the session. */
  TenantBox make(Call call, BoxOrder order) throws IOException, InterruptedException {
    dropRemoved();
    TenantBox box =
        boxes.create(agent(), order, Optional.empty(), empty -> {}, call::hasLeft).box();
    made.add(box.id());
    if (end.get() != null) {
      // RACE: the end of the session may have run before this box was listed.
      release(box.id());
      throw new Call.Cancelled();
    }
    return box;
  }

  boolean owns(TenantBox box) {
    return made.contains(box.id());
  }

  /** Removes a box that it made, or repeats the answer for a removed one. */
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

  /** Forgets removed boxes; a removal in progress may be requested again. */
  private void dropRemoved() {
    made.removeIf(id -> boxes.listed(agent(), id).isEmpty());
  }

  /** Drops {@code box} if it is the session's own; the next call that needs one makes a new box. */
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

  /** Ends its calls and boxes, once; returns the certificates of the boxes. */
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

  /** Returns a prefix of its id: long enough to distinguish it, too short to use it. */
  String shown() {
    return id().substring(0, Math.min(SHOWN_ID, id().length()));
  }

  /** Returns it as the operator sees it. */
  DoorSessions.Entry seen() {
    List<String> ids = made.stream().sorted().toList();
    return new DoorSessions.Entry(
        shown(), tenant(), client, begunAt, calls.size(), isListening(), ids);
  }

  Map<String, String> labels() {
    return Map.of("mcp-session", shown(), "mcp-client", client);
  }
}
