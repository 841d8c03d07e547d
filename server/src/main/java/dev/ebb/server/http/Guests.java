package dev.ebb.server.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.ConnectionMetaData;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;

/**
 * Bounds the connections over TCP, each of which takes a descriptor even if it sends nothing.
 *
 * <p>A connection is a guest until a request on it has shown a valid key. Guests are few, each
 * address has a share of them, and they are closed when they are idle for some seconds. When there
 * are too many, the address with the most guests loses the oldest of those that have sent no
 * request. A guest with unread bytes is not idle, however late the daemon is. Connections that have
 * shown a key are bounded apart from guests, and admins have a reserve. Thread-safe.
 */
final class Guests implements Connection.Listener {
  /** The attribute of a connection beyond the bound; its value is the bound. */
  static final String TOO_MANY = "dev.ebb.too-many-connections";

  /** The attribute of a connection on which no request has shown a key yet. */
  static final String GUEST = "dev.ebb.guest";

  private static final int GUESTS_MOST = 1024;
  private static final int GUESTS_LEAST = 16;
  private static final int SHARE_LEAST = 8;
  private static final int ADMINS_LEAST = 4;

  /** A guest is closed after it was found idle this many times in a row. */
  private static final int IDLE_LOOKS = 2;

  private static final Duration LOOK_AGAIN = Duration.ofMillis(2_500);

  /** A guest is not closed sooner for another of its address: its request may be on the way. */
  private static final Duration MOMENT = Duration.ofMillis(500);

  private final int most;
  private final int guestsMost;
  private final int share;
  private final Scheduler scheduler;
  private final OrderedLock lock = new OrderedLock(LockOrder.GUESTS);

  /** By transport, the oldest first. */
  @GuardedBy("lock")
  private final Map<EndPoint, Guest> guests = new LinkedHashMap<>();

  /**
   * The transports of connections that have shown a key. They are counted one by one: the other
   * connections may be opening or closing, as many as a flood likes.
   */
  @GuardedBy("lock")
  private final Set<EndPoint> entered = new HashSet<>();

  /**
   * Makes a bound for one listener.
   *
   * @param most how many connections with a key are served
   */
  Guests(int most, Scheduler scheduler) {
    this.most = most;
    this.scheduler = scheduler;
    guestsMost = Math.clamp(most / 4, Math.min(most, GUESTS_LEAST), GUESTS_MOST);
    share = Math.max(guestsMost / 4, Math.min(guestsMost, SHARE_LEAST));
  }

  /** A connection that has shown no key yet. */
  final class Guest {
    private final EndPoint transport;
    private final String address;
    private final long since = System.nanoTime();
    private volatile Connection connection;
    private volatile boolean hasEntered;
    private volatile Scheduler.Task next = () -> false;
    private long received;
    private int idleLooks;

    private Guest(EndPoint transport, Connection connection) {
      this.transport = transport;
      this.connection = connection;
      address = network(transport.getRemoteSocketAddress());
    }

    private boolean isSilent() {
      return connection.getMessagesIn() == 0 && !hasWaitingBytes();
    }

    /** Returns whether bytes have arrived that the daemon has not read yet. */
    private boolean hasWaitingBytes() {
      try {
        return transport.getTransport() instanceof SocketChannel channel
            && channel.socket().getInputStream().available() > 0;
      } catch (IOException e) {
        return false; // it is closed
      }
    }

    private void lookLater() {
      next = scheduler.schedule(this::look, LOOK_AGAIN.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** RACE: looks are counted, not time, so a daemon that was stopped looks again first. */
    private void look() {
      long bytes = connection.getBytesIn();
      boolean isAnswered = connection.getMessagesIn() == connection.getMessagesOut();
      idleLooks = bytes == received && isAnswered && !hasWaitingBytes() ? idleLooks + 1 : 0;
      received = bytes;
      if (idleLooks >= IDLE_LOOKS) {
        transport.close();
      } else if (isGuest(this)) {
        lookLater();
      }
    }

    private boolean isOlderThan(Duration age) {
      return System.nanoTime() - since >= age.toNanos();
    }

    /** Called when a request has shown a valid key. */
    void enter(boolean isAdmin) {
      if (!hasEntered) {
        hasEntered = true;
        int inside = Guests.this.enter(transport);
        int bound = isAdmin ? most + Math.max(ADMINS_LEAST, most / 8) : most;
        if (connection instanceof ConnectionMetaData http) {
          if (inside > bound) {
            http.setAttribute(TOO_MANY, most);
          } else {
            http.removeAttribute(TOO_MANY);
          }
        }
      }
    }
  }

  /** Returns what counts as one address: an IPv6 network of 64 bits belongs to one host. */
  private static String network(SocketAddress address) {
    if (address instanceof InetSocketAddress inet && inet.getAddress() != null) {
      byte[] bytes = inet.getAddress().getAddress();
      boolean isV6 = inet.getAddress() instanceof Inet6Address;
      return HexFormat.of().formatHex(isV6 ? Arrays.copyOf(bytes, 8) : bytes);
    }
    return String.valueOf(address);
  }

  /** Returns the transport of a connection, below TLS. */
  private static EndPoint transport(Connection connection) {
    EndPoint endPoint = connection.getEndPoint();
    return endPoint instanceof SslConnection.SslEndPoint tls
        ? tls.getSslConnection().getEndPoint()
        : endPoint;
  }

  @Override
  public void onOpened(Connection connection) {
    boolean isHttp = connection instanceof ConnectionMetaData;
    if (!isHttp && !(connection instanceof SslConnection)) {
      return; // after an upgrade: it has shown a key
    }
    EndPoint transport = transport(connection);
    Guest guest;
    boolean isNew;
    Verdict verdict = Verdict.WELCOME;
    lock.lock();
    try {
      Guest known = guests.get(transport);
      isNew = known == null;
      guest = known == null ? new Guest(transport, connection) : known;
      guest.connection = connection;
      if (isNew) {
        guests.put(transport, guest);
        verdict = verdict(guest);
        if (verdict.leaves != null) {
          // RACE: a close takes a while, and the next newcomer must find another guest to close.
          leave(verdict.leaves.transport);
        }
      }
    } finally {
      lock.unlock();
    }
    if (isNew && verdict.leaves != guest) {
      guest.lookLater();
    }
    if (verdict.leaves != null) {
      verdict.leaves.transport.close();
    }
    if (connection instanceof ConnectionMetaData http) {
      http.setAttribute(GUEST, guest);
      if (verdict.isTooMany) {
        http.setAttribute(TOO_MANY, guestsMost);
      }
    }
  }

  /**
   * The decision about a new guest.
   *
   * @param leaves the guest to be closed, if any
   * @param isTooMany whether its request is refused with a message, unless it shows a key
   */
  private record Verdict(@Nullable Guest leaves, boolean isTooMany) {
    private static final Verdict WELCOME = new Verdict(null, false);
  }

  @GuardedBy("lock")
  private Verdict verdict(Guest newcomer) {
    Map<String, Integer> counts = new HashMap<>();
    guests.values().forEach(guest -> counts.merge(guest.address, 1, Integer::sum));
    int own = counts.getOrDefault(newcomer.address, 0);
    int largest = counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    if (own <= share && guests.size() <= guestsMost) {
      return Verdict.WELCOME;
    }
    if (own < largest && guests.size() > guestsMost) {
      return new Verdict(oldest(guests.values(), counts, largest, Duration.ZERO, false), false);
    }
    Guest silent = oldest(guests.values(), counts, own, MOMENT, true);
    if (silent != null && silent != newcomer) {
      return new Verdict(silent, false);
    }
    boolean isFarBeyond = guests.size() > guestsMost + Math.max(1, guestsMost / 4);
    return isFarBeyond ? new Verdict(newcomer, false) : new Verdict(null, true);
  }

  /**
   * Returns the guest to close, of an address with {@code count} guests; those without a request go
   * first.
   */
  private static @Nullable Guest oldest(
      Collection<Guest> guests,
      Map<String, Integer> counts,
      int count,
      Duration age,
      boolean mustBeSilent) {
    Guest spoken = null;
    for (Guest guest : guests) {
      if (counts.getOrDefault(guest.address, 0) == count && guest.isOlderThan(age)) {
        if (guest.isSilent()) {
          return guest;
        }
        spoken = spoken == null ? guest : spoken;
      }
    }
    return mustBeSilent ? null : spoken;
  }

  /** An upgrade also closes a connection, but not its transport. */
  @Override
  public void onClosed(Connection connection) {
    EndPoint transport = transport(connection);
    lock.lock();
    try {
      leave(transport);
      if (!transport.isOpen()) {
        entered.remove(transport);
      }
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void leave(EndPoint transport) {
    Guest guest = guests.remove(transport);
    if (guest != null) {
      guest.next.cancel();
    }
  }

  private boolean isGuest(Guest guest) {
    lock.lock();
    try {
      return guests.get(guest.transport) == guest;
    } finally {
      lock.unlock();
    }
  }

  /** Returns how many have shown a key, including this one. */
  private int enter(EndPoint transport) {
    lock.lock();
    try {
      leave(transport);
      // RACE: Jetty does not report again that a connection was closed meanwhile.
      if (transport.isOpen()) {
        entered.add(transport);
      }
      if (entered.size() > most) {
        // Jetty does not report the end of an upgraded connection.
        entered.removeIf(each -> !each.isOpen());
      }
      return entered.size();
    } finally {
      lock.unlock();
    }
  }
}
