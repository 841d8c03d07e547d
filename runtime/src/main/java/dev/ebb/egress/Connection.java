package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;

import dev.ebb.egress.Decision.Outcome;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.model.Destination;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One connection of a box to its proxy: one request, then a tunnel, or one answer. It reaches one
 * server only. For the thread of the proxy.
 */
final class Connection {
  private static final int HEAD_MOST = 16 * 1024;
  private static final Duration LINGER = Duration.ofSeconds(2);
  private static final byte[] ESTABLISHED =
      "HTTP/1.1 200 Connection established\r\n\r\n".getBytes(ISO_8859_1);

  private enum Phase {
    /** Reads the request. */
    HEAD,
    /** Looks up the name of the server, or connects to one of its addresses. */
    REACHING,
    RELAYING,
    /** Everything is sent, and may not have arrived yet. */
    LINGERING,
    CLOSED
  }

  private final BoxEgress box;
  private final Scope scope;
  private final Side client;
  private Phase phase = Phase.HEAD;
  private long deadline;
  private byte[] head = new byte[1024];
  private int headSize;
  private @Nullable RequestHead request;
  private List<InetAddress> addresses = List.of();
  private int tried;
  private @Nullable Side server;
  private @Nullable Flow toServer;
  private @Nullable Flow toClient;
  private boolean hasServerReceivedAll;
  private boolean hasClientReceivedAll;
  private boolean isClientDone;

  /** One end of the connection, and the events that are awaited there. */
  private final class Side {
    private final Fd fd;
    private final Poller.Watch watch;
    private EnumSet<Poller.Interest> armed;

    Side(Fd fd, Poller.Interest first) throws KernelException {
      this.fd = fd;
      armed = EnumSet.of(first);
      watch = box.poller().watch(scope, fd, first, this::ready);
    }

    private void ready() {
      armed.clear();
      advance();
    }

    void await(boolean isRead, boolean isWrite) throws KernelException {
      var wanted = EnumSet.noneOf(Poller.Interest.class);
      if (isRead) {
        wanted.add(Poller.Interest.READ);
      }
      if (isWrite) {
        wanted.add(Poller.Interest.WRITE);
      }
      // KERNEL: the end of a socket that is not read wakes the poller over and over.
      if (!wanted.isEmpty() && !wanted.equals(armed)) {
        armed = wanted;
        watch.rearm(wanted);
      }
    }

    void end() throws KernelException {
      scope.release(watch);
      scope.release(fd);
    }
  }

  /** Owns {@code scope}, of which {@code fd} is a part. */
  Connection(BoxEgress box, Scope scope, Fd fd) throws KernelException {
    this.box = box;
    this.scope = scope;
    deadline = after(box.settings().headPatience());
    client = new Side(fd, Poller.Interest.READ);
  }

  private static long after(Duration patience) {
    return ProcessClock.nanos() + patience.toNanos();
  }

  /** Proceeds as far as possible without waiting. */
  private void advance() {
    try {
      switch (phase) {
        case HEAD -> readHead();
        case REACHING -> finishConnect();
        case RELAYING -> relay();
        case LINGERING -> drain();
        case CLOSED -> {}
      }
    } catch (RefusedException e) {
      refuse(e);
    } catch (KernelException | IllegalStateException e) {
      // RACE: either end may leave at any moment, and the box may be released.
      cut();
    }
  }

  // --- the request ---

  private void readHead() throws KernelException, RefusedException {
    ByteBuffer buffer = box.buffer().clear().limit(HEAD_MOST - headSize);
    int received = TcpSocket.receive(client.fd, buffer);
    if (received == 0) {
      close();
      return;
    }
    int seen = headSize;
    if (received > 0) {
      addToHead(buffer.flip(), received);
    }
    int end = RequestHead.end(head, seen, headSize);
    if (end > 0) {
      reach(takeRequest(end));
    } else if (headSize == HEAD_MOST) {
      throw new RefusedException(
          Outcome.MALFORMED, 431, "the head of a request is at most " + HEAD_MOST + " bytes");
    } else {
      client.await(true, false);
    }
  }

  private void addToHead(ByteBuffer received, int length) {
    if (head.length < headSize + length) {
      // Doubled: a head that comes byte by byte is not copied for each of them.
      head = Arrays.copyOf(head, Math.max(2 * head.length, headSize + length));
    }
    received.get(head, headSize, length);
    headSize += length;
  }

  /** Parses the head up to {@code end}, and keeps what came after it. */
  private RequestHead takeRequest(int end) throws RefusedException {
    RequestHead understood = RequestHead.parse(head, end);
    head = Arrays.copyOfRange(head, end, headSize);
    if (!understood.isTunnel() && head.length > Math.max(0, understood.length())) {
      throw RefusedException.malformed("a connection is for one request");
    }
    return understood;
  }

  private void reach(RequestHead understood) throws RefusedException {
    request = understood;
    requireAllowed();
    phase = Phase.REACHING;
    deadline = after(box.settings().connectPatience());
    box.lookUp(this, understood.destination().name().text());
  }

  private void requireAllowed() throws RefusedException {
    Destination destination = requireNonNull(request).destination();
    if (!box.policy().allows(destination)) {
      throw new RefusedException(
          Outcome.POLICY, 403, destination + " is not allowed by the network of this box");
    }
  }

  /** Ends the connection if the changed policy does not allow it any more. */
  void check() {
    if (request != null && (phase == Phase.REACHING || phase == Phase.RELAYING)) {
      try {
        requireAllowed();
      } catch (RefusedException e) {
        if (phase == Phase.RELAYING) {
          cut();
        } else {
          refuse(e);
        }
      }
    }
  }

  // --- the server ---

  /** Connects to one of {@code found}, all of which the policy allows. */
  void resolved(List<InetAddress> found) {
    if (phase == Phase.REACHING) {
      addresses = found;
      try {
        connect();
      } catch (RefusedException e) {
        refuse(e);
      } catch (IllegalStateException e) {
        cut();
      }
    }
  }

  /** Returns whether it waits for a look-up, or for its server to accept. */
  boolean isReaching() {
    return phase == Phase.REACHING;
  }

  void refused(RefusedException reason) {
    if (phase == Phase.REACHING) {
      refuse(reason);
    }
  }

  /** Connects to the next address; those before it did not answer. */
  private void connect() throws RefusedException {
    String reason = "no address";
    int port = requireNonNull(request).destination().port();
    while (tried < addresses.size()) {
      try {
        Fd fd = TcpSocket.connect(scope, addresses.get(tried++), port);
        server = new Side(fd, Poller.Interest.WRITE);
        return;
      } catch (KernelException e) {
        reason = e.errno().name();
      }
    }
    throw unreachable(reason);
  }

  private RefusedException unreachable(String reason) {
    return new RefusedException(
        Outcome.UNREACHABLE,
        502,
        requireNonNull(request).destination() + " cannot be reached: " + reason);
  }

  private void finishConnect() throws KernelException, RefusedException {
    Side reached = requireNonNull(server);
    var failure = TcpSocket.failure(reached.fd);
    if (failure.isEmpty()) {
      begin(reached);
      return;
    }
    reached.end();
    server = null;
    if (tried == addresses.size()) {
      throw unreachable(failure.get());
    }
    connect();
  }

  private void begin(Side reached) throws KernelException {
    RequestHead asked = requireNonNull(request);
    box.decided(asked.destination().toString(), Outcome.ALLOWED);
    byte[] first = asked.isTunnel() ? head : join(asked.forwarded().getBytes(ISO_8859_1), head);
    long left = asked.isTunnel() ? Flow.ENDLESS : Math.max(0, asked.length()) - head.length;
    byte[] answer = asked.isTunnel() ? ESTABLISHED : new byte[0];
    AnswerHead answered = asked.isTunnel() ? AnswerHead.none() : AnswerHead.ofRequest();
    toServer = new Flow(client.fd, reached.fd, first, left, box.sent(), AnswerHead.none());
    toClient = new Flow(reached.fd, client.fd, answer, Flow.ENDLESS, box.received(), answered);
    head = new byte[0];
    phase = Phase.RELAYING;
    deadline = after(box.settings().idlePatience());
    relay();
  }

  private static byte[] join(byte[] one, byte[] other) {
    byte[] both = Arrays.copyOf(one, one.length + other.length);
    System.arraycopy(other, 0, both, one.length, other.length);
    return both;
  }

  // --- both ---

  private void relay() throws KernelException {
    Flow up = requireNonNull(toServer);
    Flow down = requireNonNull(toClient);
    Side reached = requireNonNull(server);
    boolean isTunnel = requireNonNull(request).isTunnel();
    boolean movedUp = up.move(box.buffer());
    boolean movedDown = down.move(box.buffer());
    if (movedUp || movedDown) {
      deadline = after(box.settings().idlePatience());
    }
    passEnds(isTunnel && up.isDone(), down.isDone());
    if (down.isDone() && (!isTunnel || up.isDone())) {
      linger();
      return;
    }
    boolean awaitsMore = !isTunnel && up.isDone() && isClientSilent();
    client.await(up.wantsRead() || awaitsMore, down.wantsWrite());
    reached.await(down.wantsRead(), up.wantsWrite());
  }

  /** Passes the end of one side's data on to the other side, once. */
  private void passEnds(boolean isUpDone, boolean isDownDone) throws KernelException {
    if (isUpDone && !hasServerReceivedAll) {
      hasServerReceivedAll = true;
      TcpSocket.shutdownOutput(requireNonNull(server).fd);
    }
    if (isDownDone && !hasClientReceivedAll) {
      hasClientReceivedAll = true;
      TcpSocket.shutdownOutput(client.fd);
    }
  }

  /**
   * Returns whether nothing came after the request, not even the end.
   *
   * <p>SAFETY: later bytes are discarded: no policy decided where they may go.
   */
  private boolean isClientSilent() throws KernelException {
    if (!isClientDone) {
      int received = TcpSocket.receive(client.fd, box.buffer().clear());
      isClientDone = received == 0;
      if (received > 0) {
        throw new IllegalStateException("more than one request");
      }
    }
    return !isClientDone;
  }

  // --- the end ---

  /**
   * KERNEL: a socket that is closed with unread bytes discards what it has sent. So the rest is
   * read for a moment.
   */
  private void linger() throws KernelException {
    phase = Phase.LINGERING;
    deadline = after(LINGER);
    Side reached = server;
    if (reached != null) {
      reached.end();
      server = null;
    }
    drain();
  }

  private void drain() throws KernelException {
    int received = TcpSocket.receive(client.fd, box.buffer().clear());
    if (received == 0) {
      close();
    } else {
      client.await(true, false);
    }
  }

  private void refuse(RefusedException reason) {
    RequestHead asked = request;
    box.decided(asked == null ? "" : asked.destination().toString(), reason.outcome());
    String text = reason.text();
    String answer =
        """
        HTTP/1.1 %d Ebb: %s\r
        Content-Type: text/plain\r
        Content-Length: %d\r
        Connection: close\r
        \r
        %s
        """
            .formatted(reason.status(), text, text.length() + 1, text);
    try {
      // KERNEL: the buffer of a socket to which nothing was sent takes it whole.
      TcpSocket.send(client.fd, box.buffer().clear().put(answer.getBytes(ISO_8859_1)).flip());
      TcpSocket.shutdownOutput(client.fd);
      linger();
    } catch (KernelException | IllegalStateException e) {
      cut();
    }
  }

  /**
   * Ends the connection if it takes too long. A paused box can neither read nor write, so the time
   * of its connections stands still.
   */
  void tick(long now, boolean isPaused) {
    if (isPaused && phase == Phase.HEAD) {
      deadline = after(box.settings().headPatience());
    } else if (isPaused && phase == Phase.RELAYING) {
      deadline = after(box.settings().idlePatience());
    }
    if (now - deadline < 0) {
      return;
    }
    switch (phase) {
      case HEAD ->
          refuse(new RefusedException(Outcome.SLOW, 408, "the request took too long to be sent"));
      case REACHING ->
          refuse(
              addresses.isEmpty()
                  ? RefusedException.late(requireNonNull(request).destination().name().text())
                  : unreachable("no answer in time"));
      case RELAYING -> cut();
      case LINGERING -> close();
      case CLOSED -> {}
    }
  }

  /** Resets the connection, so that both ends see that it is incomplete. */
  void cut() {
    Side reached = server;
    try {
      TcpSocket.resetOnClose(client.fd);
      if (reached != null) {
        TcpSocket.resetOnClose(reached.fd);
      }
    } catch (KernelException e) {
      // RACE: closed with its box already.
    }
    close();
  }

  private void close() {
    if (phase != Phase.CLOSED) {
      phase = Phase.CLOSED;
      box.ended(this, scope);
    }
  }
}
