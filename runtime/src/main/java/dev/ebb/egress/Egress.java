package dev.ebb.egress;

import static java.util.Objects.requireNonNull;

import dev.ebb.egress.Decision.Outcome;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.model.EgressPolicy;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The proxy of all boxes of an engine. One thread carries all their bytes, a few others look names
 * up; while no box has a way out there is none of them. Thread-safe.
 */
public final class Egress {
  private static final Logger LOG = System.getLogger(Egress.class.getName());

  /** The port on the loopback of each box. */
  public static final int PORT = 3128;

  private static final int BUFFER = 64 * 1024;
  private static final Duration TICK = Duration.ofMillis(500);

  /** Threads for the names of boxes whose names are found in time, and for those of the others. */
  private static final int RESOLVERS = 2;

  private static final int SLOW_RESOLVERS = 1;

  private final OrderedLock lock = new OrderedLock(LockOrder.EGRESS);
  private final Set<BoxEgress> boxes = ConcurrentHashMap.newKeySet();

  private final Map<Outcome, LongAdder> decisions = new EnumMap<>(Outcome.class);
  final LongAdder sent = new LongAdder();
  final LongAdder received = new LongAdder();
  private volatile EgressSettings settings = EgressSettings.DEFAULT;
  private volatile Consumer<Decision> listener = _ -> {};
  private volatile @Nullable UnaryOperator<String> owners;

  /** Changed under the lock only. */
  private volatile @Nullable Running running;

  private final Resolvers resolvers = new Resolvers(RESOLVERS);
  private final Resolvers slowResolvers = new Resolvers(SLOW_RESOLVERS);

  /** The buffer is for the thread of the poller. */
  private record Running(Scope scope, Poller poller, ByteBuffer buffer) {}

  /** The result of a look-up. */
  sealed interface Found {
    record Addresses(List<InetAddress> all) implements Found {}

    record Refused(RefusedException reason) implements Found {}
  }

  public Egress() {
    for (Outcome outcome : Outcome.values()) {
      decisions.put(outcome, new LongAdder());
    }
  }

  /** Applies to new connections. */
  public void configure(EgressSettings changed) {
    settings = changed;
  }

  /** Calls {@code heir} for each decision from now on; it must not wait for anything. */
  public void listen(Consumer<Decision> heir) {
    listener = heir;
  }

  /**
   * Begins to serve a box.
   *
   * @param socket listens on its loopback
   * @param isPaused its commands cannot run now
   */
  public BoxEgress open(
      Scope scope, String box, Fd socket, EgressPolicy policy, BooleanSupplier isPaused)
      throws KernelException {
    if (!TcpSocket.isListening(socket)) {
      throw new KernelException("take " + socket + " for the way out of box " + box, Errno.EINVAL);
    }
    BoxEgress opened;
    lock.lock();
    try {
      Running before = running;
      Running now = before == null ? start() : before;
      opened = new BoxEgress(this, now.poller(), now.buffer(), box, socket, policy, isPaused);
      boxes.add(opened);
    } finally {
      lock.unlock();
    }
    scope.own(opened);
    opened.begin();
    return opened;
  }

  private Running start() throws KernelException {
    var scope = new Scope();
    var poller = Poller.start(scope, "ebb-egress", TICK, this::tick);
    var started = new Running(scope, poller, ByteBuffer.allocateDirect(BUFFER));
    running = started;
    return started;
  }

  /** A box has no way out any more; the last takes the threads along. */
  void left(BoxEgress closed) throws KernelException {
    lock.lock();
    try {
      boxes.remove(closed);
      Running ending = running;
      if (boxes.isEmpty() && ending != null) {
        running = null;
        resolvers.rest();
        slowResolvers.rest();
        // RACE: it is waited for here, so that there are never two; it never waits for this lock.
        ending.scope().close();
      }
    } finally {
      lock.unlock();
    }
  }

  private void tick() {
    long now = ProcessClock.nanos();
    boxes.forEach(box -> box.tick(now));
  }

  EgressSettings settings() {
    return settings;
  }

  /**
   * The owner of each box from now on, by its id. No owner has more connections than are left for
   * the others, and of each one name is looked up at a time. Else each box is its own owner, and
   * has its own bound alone.
   */
  public void share(UnaryOperator<String> ofBox) {
    owners = ofBox;
  }

  boolean hasRoomFor(BoxEgress box) {
    int all = connections();
    return box.count() < settings.connectionsOfBox()
        && all < settings.connections()
        && (owners == null || ofOwner(owner(box)) < Math.max(1, settings.connections() - all));
  }

  private String owner(BoxEgress box) {
    UnaryOperator<String> ofBox = owners;
    return ofBox == null ? box.box() : ofBox.apply(box.box());
  }

  private int ofOwner(String owner) {
    return boxes.stream()
        .filter(each -> each.count() > 0 && owner(each).equals(owner))
        .mapToInt(BoxEgress::count)
        .sum();
  }

  /** Accepts what waits. */
  void roomChanged() {
    boxes.forEach(BoxEgress::admit);
  }

  void decided(Decision decision) {
    requireNonNull(decisions.get(decision.outcome())).increment();
    listener.accept(decision);
  }

  // --- names ---

  /** A connection that has a name looked up. */
  interface Asker {
    String name();

    /** Returns false if the result is not needed any more. For any thread. */
    boolean isWaiting();

    void answer(Found found, Duration took);
  }

  /**
   * Resolves a name once and checks each of its addresses. The connection uses one of these, so a
   * later change of the name has no effect.
   *
   * @param isSlow it may take long, and waits for others of that kind
   */
  void lookUp(BoxEgress box, Asker asker, boolean isSlow) {
    long ordered = ProcessClock.nanos();
    (isSlow ? slowResolvers : resolvers).execute(owner(box), () -> lookUp(asker, ordered));
  }

  private void lookUp(Asker asker, long ordered) {
    long begun = ProcessClock.nanos();
    // A connection that waited for this long got an answer that says so.
    boolean isLate = begun - ordered > settings.connectPatience().toNanos();
    Found found =
        isLate || !asker.isWaiting()
            ? new Found.Refused(RefusedException.late(asker.name()))
            : find(asker.name());
    asker.answer(found, ProcessClock.since(begun));
  }

  private static List<InetAddress> resolve(EgressSettings settings, String name) {
    try {
      return settings.resolver().resolve(name);
    } catch (IOException e) {
      return List.of();
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "event=resolver_failed", e);
      return List.of();
    }
  }

  private Found find(String name) {
    EgressSettings now = settings;
    List<InetAddress> found = resolve(now, name);
    if (found.isEmpty()) {
      return new Found.Refused(
          new RefusedException(Outcome.UNRESOLVED, 502, name + " has no address"));
    }
    var rules = new AddressRules(now.opened());
    if (!found.stream().allMatch(rules::allows)) {
      return new Found.Refused(
          new RefusedException(Outcome.ADDRESS, 403, name + " leads to an address that is closed"));
    }
    return new Found.Addresses(List.copyOf(found));
  }

  // --- figures ---

  /** How many connections there are. */
  public int connections() {
    return boxes.stream().mapToInt(BoxEgress::count).sum();
  }

  /** How often was decided what; every outcome is there. */
  public Map<Outcome, Long> decisions() {
    var counts = new LinkedHashMap<Outcome, Long>();
    decisions.forEach((outcome, count) -> counts.put(outcome, count.sum()));
    return counts;
  }

  /** Bytes that boxes sent. */
  public long sent() {
    return sent.sum();
  }

  /** Returns how many bytes they received. */
  public long received() {
    return received.sum();
  }
}
