package dev.ebb.egress;

import dev.ebb.egress.Decision.Outcome;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Owned;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.model.EgressPolicy;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The egress of one box: serves the connections to its socket, as far as the policy allows. Closing
 * it ends all its connections at once.
 *
 * <p>Any thread may call the public methods; only the proxy's thread calls the others.
 */
public final class BoxEgress implements Owned {
  private static final Logger LOG = System.getLogger(BoxEgress.class.getName());

  /** A look-up that takes longer counts as slow. */
  private static final Duration PROMPT = Duration.ofSeconds(2);

  /**
   * After a slow look-up a box stands back for this many times its duration, which bounds the share
   * of our threads that the box may hold.
   */
  private static final int STAND_BACK = 20;

  private static final long CHANGE_SECONDS = 5;

  private final Egress egress;
  private final Poller poller;
  private final ByteBuffer buffer;
  private final String box;
  private final Fd listener;
  private final BooleanSupplier isPaused;
  private final Scope scope = new Scope();
  private final AtomicBoolean isClosed = new AtomicBoolean();
  private final AtomicInteger count = new AtomicInteger();
  private final Set<Connection> connections = new LinkedHashSet<>();
  private final Deque<LookUp> waiting = new ArrayDeque<>();
  private boolean isLookingUp;

  /**
   * Until then its names are looked up by the threads for slow boxes, where they delay only each
   * other.
   */
  private long slowUntil = ProcessClock.nanos();

  private volatile EgressPolicy policy;
  private Poller.@Nullable Watch watch;
  private boolean hasCallers;

  /** Whether the last connection could not be accepted. */
  private boolean isShort;

  private record LookUp(BoxEgress of, Connection connection, String name) implements Egress.Asker {
    @Override
    public boolean isWaiting() {
      return !of.isClosed.get();
    }

    @Override
    public void answer(Egress.Found found, Duration took) {
      of.answer(connection, found, took);
    }
  }

  BoxEgress(
      Egress egress,
      Poller poller,
      ByteBuffer buffer,
      String box,
      Fd listener,
      EgressPolicy policy,
      BooleanSupplier isPaused) {
    this.egress = egress;
    this.poller = poller;
    this.buffer = buffer;
    this.box = box;
    this.listener = listener;
    this.policy = policy;
    this.isPaused = isPaused;
  }

  void begin() throws KernelException {
    poller.execute(
        () -> {
          try {
            watch = poller.watch(scope, listener, Poller.Interest.READ, this::accept);
          } catch (KernelException | IllegalStateException e) {
            fail(e);
          }
        });
  }

  private void fail(Exception e) {
    // RACE: the box may have been closed.
    if (!scope.isClosed()) {
      LOG.log(Level.ERROR, "event=egress_broken box=" + box, e);
    }
  }

  /**
   * Replaces the policy. When this returns, every connection to a destination that is no longer
   * allowed is cut.
   */
  public void change(EgressPolicy changed) throws KernelException, InterruptedException {
    policy = changed;
    var done = new CompletableFuture<Void>();
    poller.execute(
        () -> {
          List.copyOf(connections).forEach(Connection::check);
          done.complete(null);
        });
    try {
      done.get(CHANGE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new KernelException("cut the connections of box " + box, Errno.EAGAIN);
    }
  }

  @Override
  public void close() throws KernelException {
    if (isClosed.compareAndSet(false, true)) {
      try {
        scope.close();
      } finally {
        egress.left(this);
      }
    }
  }

  /** Returns the id of its box. */
  String box() {
    return box;
  }

  /** Returns the number of its connections. */
  int count() {
    return isClosed.get() ? 0 : count.get();
  }

  // --- for its connections ---

  Poller poller() {
    return poller;
  }

  EgressSettings settings() {
    return egress.settings();
  }

  EgressPolicy policy() {
    return policy;
  }

  /** Returns a buffer for use within one call; other connections overwrite it afterwards. */
  ByteBuffer buffer() {
    return buffer;
  }

  LongAdder sent() {
    return egress.sent;
  }

  LongAdder received() {
    return egress.received;
  }

  void decided(String destination, Outcome outcome) {
    egress.decided(new Decision(box, destination, outcome));
  }

  /** Looks a name up; one at a time, so that one box cannot delay the others. */
  void lookUp(Connection connection, String name) {
    waiting.add(new LookUp(this, connection, name));
    nextLookUp();
  }

  private void nextLookUp() {
    // No connection waits for the names of a box that is gone, or after its look-up timed out.
    waiting.removeIf(each -> isClosed.get() || !each.connection().isReaching());
    if (!isLookingUp && !waiting.isEmpty()) {
      LookUp next = waiting.remove();
      isLookingUp = true;
      egress.lookUp(this, next, ProcessClock.nanos() - slowUntil < 0);
    }
  }

  private void answer(Connection connection, Egress.Found found, Duration took) {
    try {
      poller.execute(
          () -> {
            isLookingUp = false;
            if (took.compareTo(PROMPT) > 0) {
              slowUntil = ProcessClock.nanos() + took.multipliedBy(STAND_BACK).toNanos();
            }
            switch (found) {
              case Egress.Found.Addresses(List<InetAddress> all) -> connection.resolved(all);
              case Egress.Found.Refused(RefusedException reason) -> connection.refused(reason);
            }
            nextLookUp();
          });
    } catch (KernelException e) {
      fail(e);
    }
  }

  // --- connections come and go ---

  private void accept() {
    hasCallers = true;
    admit();
  }

  /** Accepts waiting connections while there is room; the others stay in the listen backlog. */
  void admit() {
    try {
      while (hasCallers && egress.hasRoomFor(this)) {
        hasCallers = admitOne();
      }
      isShort = false;
    } catch (KernelException | IllegalStateException e) {
      // Such as EMFILE: retried with the next tick, and logged once.
      if (!isShort) {
        isShort = true;
        fail(e);
      }
    }
  }

  private boolean admitOne() throws KernelException {
    Scope ofOne = Scope.in(scope);
    boolean isIn = false;
    try {
      // SAFETY: init has the same open file, and may have been taken over.
      listener.nonBlocking();
      Optional<Fd> client = TcpSocket.accept(ofOne, listener);
      if (client.isPresent()) {
        connections.add(new Connection(this, ofOne, client.get()));
        count.incrementAndGet();
        isIn = true;
      } else {
        rearm();
      }
      return isIn;
    } finally {
      if (!isIn) {
        scope.release(ofOne);
      }
    }
  }

  private void rearm() throws KernelException {
    Poller.Watch armed = watch;
    if (armed != null) {
      armed.rearm();
    }
  }

  void ended(Connection connection, Scope ofOne) {
    connections.remove(connection);
    count.decrementAndGet();
    try {
      scope.release(ofOne);
    } catch (KernelException e) {
      fail(e);
    }
    egress.roomChanged();
  }

  void tick(long now) {
    boolean pause = isPaused.getAsBoolean();
    List.copyOf(connections).forEach(connection -> connection.tick(now, pause));
    admit();
  }
}
