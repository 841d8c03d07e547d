package dev.ebb.backend.bubblewrap;

import static java.util.Objects.requireNonNull;

import dev.ebb.backend.BoxContents;
import dev.ebb.backend.CallOff;
import dev.ebb.backend.ExecKind;
import dev.ebb.backend.FirstFile;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.step.Step;
import dev.ebb.store.LogDirectory;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The engine's end of the control socket of one box.
 *
 * <p>Its closing is the box's end: init exits when it sees EOF. Messages arrive on the poller's
 * thread. Thread-safe.
 */
public final class InitChannel {
  private static final Logger LOG = System.getLogger(InitChannel.class.getName());
  private static final int CHUNK = 64 * 1024;
  private static final Duration SEND_DEADLINE = Duration.ofSeconds(10);

  private static final Duration HEAR_BOUND = Duration.ofSeconds(5);

  private static final int LISTENS_SINCE = 8;
  private static final int LOOKS_SINCE = 10;
  private static final int LOOKS_IN_THE_END_SINCE = 11;
  private static final int TELLS_MORE_SINCE = 12;
  private static final int PIPES_SINCE = 12;
  private static final int TAKES_FILES_SINCE = 12;
  private static final int PERMISSIONS = 0777;

  /** The version of the oldest init that a box may still have. */
  private static final int OLDEST_SERVED = 4;

  private final Scope scope;
  private final InitSocket socket;
  private final byte[] nonce;
  private final Duration patience;
  private final Poller poller;
  private Poller.@Nullable Watch watch;
  private final byte[] chunk = new byte[CHUNK];
  private final Deque<Fd> received = new ArrayDeque<>();
  private final Map<Integer, ExecEvents> execs = new ConcurrentHashMap<>();

  /** There was an engine before this one. */
  private boolean isLater;

  private final Dismissals dismissals = new Dismissals();
  private final IncomingMessages incoming = new IncomingMessages();

  private final OrderedLock state = new OrderedLock(LockOrder.INIT_STATE);
  private final Condition changed = state.newCondition();
  private @Nullable Pidfd init;
  private @Nullable String unmade;
  private boolean forsaken;
  private boolean hello;
  private boolean known;
  private boolean closed;

  /** The box goes on without us. */
  private boolean left;

  private int highestKnown;
  private Runnable listener = () -> {};
  private @Nullable BoxContents contents;
  private int version;

  /** So many sockets were asked for, and have not come yet; only the last is waited for. */
  private int awaitedSockets;

  private @Nullable Listening listening;

  /** The answer to LISTEN; the socket belongs to the channel's scope. */
  private record Listening(int errno, Optional<Fd> socket) {}

  private @Nullable Report report;

  /** An answer did not come in time, so the next may be to an earlier question. */
  private boolean isLate;

  /** The answer to PLACE or LOOK. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Report(int errno, byte[] entries) {}

  /** Who asks what there is in the box, or for its way out. */
  private final OrderedLock asking = new OrderedLock(LockOrder.INIT_QUESTION);

  private InitChannel(
      Scope scope, Poller poller, InitSocket socket, byte[] nonce, Duration patience)
      throws KernelException {
    this.scope = scope;
    this.poller = poller;
    this.patience = patience;
    this.socket = socket;
    this.nonce = nonce.clone();
    // RACE: closed by us, it never sees the EOF that would tell the execs.
    scope.own(this::closeAll);
  }

  private void closeAll() throws KernelException {
    close();
    socket.close();
  }

  /** The first line to a box: gives init its nonce; events flow at once. */
  static InitChannel open(Scope scope, Poller poller, InitSocket socket, byte[] nonce)
      throws KernelException {
    return open(scope, poller, socket, nonce, SEND_DEADLINE);
  }

  static InitChannel open(
      Scope scope, Poller poller, InitSocket socket, byte[] nonce, Duration patience)
      throws KernelException {
    var channel = new InitChannel(scope, poller, socket, nonce, patience);
    channel.sendAll(nonce, List.of());
    channel.listen();
    return channel;
  }

  /**
   * A later line to a detached box, whose init was given {@code nonce} by the engine before; to be
   * followed by {@link #expect} for what is thought to run, and {@link #greet}.
   *
   * @throws KernelException ECONNREFUSED or ENOENT when nobody listens: its init is dead
   */
  public static InitChannel reconnect(
      Scope scope,
      Poller poller,
      InitSocket.Discarding discarding,
      Fd directory,
      byte[] nonce,
      Pidfd init)
      throws KernelException {
    Step.RECONNECT.reach();
    var socket = InitSocket.connect(scope, directory, LogDirectory.CONTROL, discarding);
    var channel = new InitChannel(scope, poller, socket, nonce, SEND_DEADLINE);
    channel.init = init;
    channel.isLater = true;
    return channel;
  }

  /** Of an exec that an engine before this one started. */
  public void expect(int exec, ExecEvents events) {
    execs.put(exec, events);
  }

  /**
   * Hears what has become of each exec meanwhile; one that init does not know is lost.
   *
   * @param callOff nobody wants to know any more
   * @return false when the box died, it was called off, or the deadline came first
   */
  public boolean greet(Deadline deadline, CallOff callOff)
      throws KernelException, InterruptedException {
    Step.GREET.reach();
    listen();
    callOff.listen(() -> change(() -> {}));
    await(() -> (hello && known) || callOff.isCalled(), deadline);
    callOff.listen(() -> {});
    return awaitNews(() -> hello && known, Deadline.in(Duration.ZERO));
  }

  /** RACE: the first words may be there before we know by what we listen. */
  private void listen() throws KernelException {
    state.lock();
    try {
      watch = poller.watch(scope, socket.fd(), Poller.Interest.READ, this::receive);
    } finally {
      state.unlock();
    }
  }

  private Poller.Watch watch() {
    state.lock();
    try {
      return requireNonNull(watch);
    } finally {
      state.unlock();
    }
  }

  /** Proves on a later line that init is the one of this box. */
  public byte[] nonce() {
    return nonce.clone();
  }

  /**
   * Lets the box outlive this engine: init will wait at a socket in {@code directory} for the next.
   *
   * @param deadline when init shall end the box by itself; zero: never
   */
  public void detach(Fd directory, Duration deadline) throws KernelException {
    try (var passing = new Scope()) {
      Step.LISTEN.reach();
      Fd listening = UnixSocket.listen(passing, directory, LogDirectory.CONTROL);
      Step.SEND_DETACH.reach();
      sendAll(Protocol.detach(deadline), List.of(listening));
    }
  }

  /** The end of an exec of a detached box is written down. */
  public void forget(int exec) throws KernelException {
    Step.SEND_FORGET.reach();
    sendAll(Protocol.forget(exec), List.of());
  }

  /** Hangs up on a detached box, which goes on: its execs are not lost. */
  public void leave() {
    // ORDER: what is heard from here on ends and forgets nothing, for the next engine shall hear
    // it.
    change(() -> left = true);
    whenClosed(() -> {});
    execs.clear();
    hangUp();
  }

  private boolean isLeft() {
    state.lock();
    try {
      return left;
    } finally {
      state.unlock();
    }
  }

  /** The highest number of a command that init knew of when it was greeted. */
  public int highestKnown() {
    state.lock();
    try {
      return highestKnown;
    } finally {
      state.unlock();
    }
  }

  /** Waits for LAUNCHED and HELLO; empty when the box died or the deadline came first. */
  Optional<Pidfd> awaitHello(Deadline deadline) throws InterruptedException {
    await(() -> isGreeted() || unmade != null, deadline);
    state.lock();
    try {
      return isGreeted() ? Optional.ofNullable(init) : Optional.empty();
    } finally {
      state.unlock();
    }
  }

  private boolean isGreeted() {
    return hello && init != null && !forsaken;
  }

  /**
   * Says no more to a box that nobody has announced. RACE: what announces and greets it may lie
   * unread in the socket; it comes too late from then on, for its init has been told to end.
   */
  void forsakeUnlessAnnounced() {
    state.lock();
    try {
      if (init != null) {
        return;
      }
      forsaken = true;
    } finally {
      state.unlock();
    }
    sayNoMore();
  }

  /** Why there will be no box, if its maker said so. */
  Optional<String> unmade() {
    state.lock();
    try {
      return Optional.ofNullable(unmade);
    } finally {
      state.unlock();
    }
  }

  /** ORDER: what init has said by the deadline is heard before that decides. */
  private boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
    if (awaitNews(condition, deadline)) {
      return true;
    }
    if (!isClosed()) {
      var _ = poller.catchUp(Deadline.in(HEAR_BOUND));
    }
    return awaitNews(condition, Deadline.in(Duration.ZERO));
  }

  private boolean awaitNews(BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    state.lock();
    try {
      while (!condition.getAsBoolean() && !closed && !deadline.isOver()) {
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return condition.getAsBoolean();
    } finally {
      state.unlock();
    }
  }

  /** The box's pid 1, if it got so far. */
  public Optional<Pidfd> init() {
    state.lock();
    try {
      return Optional.ofNullable(init);
    } finally {
      state.unlock();
    }
  }

  /**
   * Ends the talk, and hears out what was said before: then {@link #init} is final.
   *
   * @return false when the deadline came first
   */
  public boolean hangUp(Deadline deadline) throws InterruptedException {
    hangUp();
    return await(() -> closed, deadline);
  }

  /**
   * Init takes it for the engine's end; what it says is heard until it, and all others, are gone.
   */
  void sayNoMore() {
    try {
      socket.sayNoMore();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=say_no_more_failed, ignoring: the box is being released", e);
    }
  }

  /** False when the deadline came before all had let go of the other end. */
  boolean awaitClosed(Deadline deadline) throws InterruptedException {
    return await(() -> closed, deadline);
  }

  /** Runs {@code listener} once the other end is gone, at once if it is already. */
  public void whenClosed(Runnable listener) {
    boolean already;
    state.lock();
    try {
      this.listener = listener;
      already = closed;
    } finally {
      state.unlock();
    }
    if (already) {
      listener.run();
    }
  }

  /** Whether a command can have a stdout of ours. */
  public boolean canPipe() {
    return version() >= PIPES_SINCE;
  }

  /** Whether the files of a cgroup will do for init, without its directory. */
  public boolean takesLeafFiles() {
    return version() >= TAKES_FILES_SINCE;
  }

  /** Asks init to start a command; {@code fds}: logs, those of its leaf, stdin. */
  public void start(int exec, StartRequest request, List<Fd> fds, ExecEvents events)
      throws KernelException {
    start(exec, request, fds, false, events);
  }

  /** The same; {@code isPiped}: the last descriptor is its stdout, and it has no stdin. */
  public void start(
      int exec, StartRequest request, List<Fd> fds, boolean isPiped, ExecEvents events)
      throws KernelException {
    boolean canLook = version() >= LOOKS_IN_THE_END_SINCE;
    byte[] message = Protocol.start(exec, fds.size(), request, canLook, isPiped);
    if (fds.size() > Protocol.MESSAGE_FDS_MAX) {
      throw new IllegalArgumentException("too many descriptors for one message: " + fds.size());
    }
    if (message.length - Protocol.HEADER_SIZE > Protocol.MESSAGE_MAX) {
      throw new KernelException("start a command with such long arguments", Errno.E2BIG);
    }
    execs.put(exec, events);
    try {
      Step.SEND_START.reach();
      sendAll(message, fds);
    } catch (KernelException e) {
      execs.remove(exec);
      throw e;
    }
    // RACE: the channel may have closed before our entry was in the map.
    if (isClosed() && execs.remove(exec) != null) {
      events.lost();
    }
  }

  /** Starts the kill ladder of an exec; one that has ended already is no error. */
  public void kill(int exec, Signal signal, Duration grace) throws KernelException {
    Step.SEND_KILL.reach();
    sendAll(Protocol.kill(exec, signal.number(), grace), List.of());
  }

  /** The answer to {@link ExecEvents#full}: what it wrote, and will write, goes there. */
  public void giveLogs(int exec, Fd stdout, Fd stderr) throws KernelException {
    sendAll(Protocol.logs(exec, 0), List.of(stdout, stderr));
  }

  /** The other answer: what it writes from now on is lost. */
  public void refuseLogs(int exec, int errno) throws KernelException {
    sendAll(Protocol.logs(exec, errno), List.of());
  }

  /** Ends the section that an exec writes; one that has ended already is no error. */
  public void cut(int exec) throws KernelException {
    sendAll(Protocol.cut(exec), List.of());
  }

  /** Changes the size of an exec's terminal; one that has ended already is no error. */
  public void resize(int exec, ExecKind.Terminal size) throws KernelException {
    sendAll(Protocol.resize(exec, size), List.of());
  }

  /** Sends a signal, but SIGKILL, to all of an exec; one that has ended already is no error. */
  public void signal(int exec, Signal signal) throws KernelException {
    sendAll(Protocol.signal(exec, signal.number()), List.of());
  }

  /** Begins the limits of an exec that has waited anew; one that has ended is no error. */
  public void renew(int exec, StartRequest request) throws KernelException {
    sendAll(Protocol.renew(exec, request), List.of());
  }

  /**
   * What init finds in the box, when it has done all that it was told before; empty when it has not
   * answered in time, or is gone.
   */
  public Optional<BoxContents> count(Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      change(() -> contents = null);
      sendAll(Protocol.count(), List.of());
      await(() -> contents != null, deadline);
      return Optional.ofNullable(contents);
    } finally {
      asking.unlock();
    }
  }

  /**
   * What a box held that was counted.
   *
   * @param placed the entry of what was placed right after it, see {@link #place}
   */
  @SuppressWarnings("OptionalOfArray") // never compared
  public record Counted(BoxContents contents, Optional<byte[]> placed) {}

  /** Both, without waiting for the one before the other is asked for. */
  public Optional<Counted> countAndPlace(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      change(() -> contents = null);
      sendAll(Protocol.count(), List.of());
      // ORDER: counted before it is there.
      Optional<byte[]> placed = place(file, deadline);
      await(() -> contents != null, deadline);
      return Optional.ofNullable(contents).map(counted -> new Counted(counted, placed));
    } finally {
      asking.unlock();
    }
  }

  /**
   * Has init itself make a file that is new in the workspace.
   *
   * @return its entry, see init/protocol.h; empty: it cannot, or has not answered in time
   */
  public Optional<byte[]> place(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    boolean isShort = file.content().length <= Protocol.PLACE_MAX;
    return isShort && (file.mode() & ~PERMISSIONS) == 0
        ? ask(Protocol.place(file.name(), file.mode(), file.content()), deadline)
        : Optional.empty();
  }

  /**
   * What init itself sees in the workspace.
   *
   * @return all entries, see init/protocol.h; empty: they are too many, or it cannot, or has not
   *     answered in time
   */
  public Optional<byte[]> look(Deadline deadline) throws KernelException, InterruptedException {
    return ask(Protocol.look(), deadline);
  }

  private Optional<byte[]> ask(byte[] question, Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      if (version() < LOOKS_SINCE || isLate) {
        return Optional.empty();
      }
      change(() -> report = null);
      // ORDER: also for whoever is interrupted meanwhile.
      isLate = true;
      sendAll(question, List.of());
      isLate = !await(() -> report != null, deadline);
      return Optional.ofNullable(report).filter(each -> each.errno == 0).map(Report::entries);
    } finally {
      asking.unlock();
    }
  }

  /**
   * Has init listen on the loopback of the box, and gives the socket: the same whenever it is asked
   * for.
   *
   * @throws KernelException EADDRINUSE when a command has taken the port, EOPNOTSUPP when init is
   *     of an earlier Ebb
   */
  public Fd listen(int port, Deadline deadline) throws KernelException, InterruptedException {
    String action = "listen at port " + port + " of the box";
    asking.lockInterruptibly();
    try {
      if (version() < LISTENS_SINCE) {
        throw new KernelException(action + ", whose init is older", Errno.EOPNOTSUPP);
      }
      askForSocket(port);
      await(() -> listening != null, deadline);
      Listening answer = listening;
      if (answer == null) {
        throw new KernelException(action + " in time", Errno.EAGAIN);
      }
      return answer.socket().orElseThrow(() -> new KernelException(action, answer.errno()));
    } finally {
      asking.unlock();
    }
  }

  private void askForSocket(int port) throws KernelException {
    change(
        () -> {
          listening = null;
          awaitedSockets++;
        });
    boolean isAsked = false;
    try {
      Step.SEND_LISTEN.reach();
      sendAll(Protocol.listen(port), List.of());
      isAsked = true;
    } finally {
      if (!isAsked) {
        change(() -> awaitedSockets--);
      }
    }
  }

  private int version() {
    state.lock();
    try {
      return version;
    } finally {
      state.unlock();
    }
  }

  /** When a command ended, and how much of its output was lost. */
  private boolean tellsMore() {
    return version() >= TELLS_MORE_SINCE;
  }

  private boolean isClosed() {
    state.lock();
    try {
      return closed;
    } finally {
      state.unlock();
    }
  }

  /**
   * A slow init is no reason to end a box: what it does not take in time fails, and nothing else.
   */
  private void sendAll(byte[] bytes, List<Fd> fds) throws KernelException {
    socket.send(bytes, fds, Deadline.in(patience));
  }

  private void receive() {
    try {
      UnixSocket.Received some = socket.receive(scope, chunk, this::isExpected);
      received.addAll(some.fds());
      if (some.bytes() == 0) {
        close();
        return;
      }
      if (some.bytes() > 0) {
        incoming.append(chunk, some.bytes());
        for (var next = incoming.next(); next.isPresent(); next = incoming.next()) {
          dispatch(next.get().type(), next.get().exec(), next.get().body());
        }
      }
      watch().rearm();
    } catch (KernelException | RuntimeException e) {
      // RACE: the box may be released, and all that is used here closed, while this runs.
      if (!scope.isClosed()) {
        LOG.log(Level.ERROR, "event=channel_broken", e);
      }
      hangUp();
      close();
    }
  }

  /** What follows could not be understood, here or there: both see the end, and the box ends. */
  private void hangUp() {
    try {
      socket.hangUp();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=hang_up_failed, ignoring: the box is being released", e);
    }
  }

  /** SAFETY: the pidfd of init, and sockets that were asked for; our table is not the box's. */
  private boolean isExpected(Fd fd) throws KernelException {
    return init().isEmpty()
        ? received.isEmpty() && Pidfd.isOne(fd)
        : received.size() < awaitedSockets() && TcpSocket.isListening(fd);
  }

  private int awaitedSockets() {
    state.lock();
    try {
      return awaitedSockets;
    } finally {
      state.unlock();
    }
  }

  private void dispatch(int type, int exec, ByteBuffer body) throws KernelException {
    if (exec != 0 && !execs.containsKey(exec)) {
      dismiss(type, exec);
      if (isLater) {
        return;
      }
    }
    switch (type) {
      case Protocol.MESSAGE_LAUNCHED -> launched(body.getInt());
      case Protocol.MESSAGE_HELLO -> hello(body);
      case Protocol.MESSAGE_UNMADE -> change(() -> unmade = Protocol.text(body));
      case Protocol.MESSAGE_STARTED -> {
        Step.HEAR_STARTED.reach();
        int pid = body.getInt();
        int shepherd = body.getInt();
        exec(exec, false).ifPresent(e -> e.started(pid, shepherd));
      }
      case Protocol.MESSAGE_OUTPUT -> {
        long stdout = body.getLong();
        long stderr = body.getLong();
        exec(exec, false)
            .ifPresent(
                e -> {
                  Protocol.told(body, e);
                  e.output(stdout, stderr);
                });
      }
      case Protocol.MESSAGE_FULL -> exec(exec, false).ifPresent(ExecEvents::full);
      case Protocol.MESSAGE_SECTION -> {
        var section = Protocol.section(body, tellsMore());
        exec(exec, false)
            .ifPresent(
                e -> {
                  Protocol.told(body, e);
                  e.section(section);
                });
      }
      // ORDER: understood first. An exec that is off the list already would never hear of an end.
      case Protocol.MESSAGE_REFUSED -> {
        var step = Protocol.step(body.getInt());
        int errno = body.getInt();
        exec(exec, true).ifPresent(e -> e.refused(step, errno));
      }
      case Protocol.MESSAGE_ENDED -> {
        Step.HEAR_ENDED.reach();
        var ended = Protocol.ended(body, tellsMore());
        exec(exec, false).ifPresent(e -> Protocol.told(body, e));
        exec(exec, true).ifPresent(e -> e.ended(ended));
      }
      case Protocol.MESSAGE_LISTENING -> listening(body.getInt());
      case Protocol.MESSAGE_PLACED, Protocol.MESSAGE_LOOKED -> report(type, exec, body);
      case Protocol.MESSAGE_COUNTED -> {
        var counted = Protocol.counted(body);
        change(() -> contents = counted);
      }
      default -> {
        if (type != Protocol.MESSAGE_KNOWN || !isLater) {
          throw new KernelException("understand message type " + type, Errno.EINVAL);
        }
        Step.HEAR_KNOWN.reach();
        known(body);
      }
    }
  }

  private void report(int type, int exec, ByteBuffer body) throws KernelException {
    int errno = body.getInt();
    if (body.remaining() > Protocol.REPORT_MAX || (exec != 0 && type != Protocol.MESSAGE_LOOKED)) {
      throw new KernelException("understand a report of " + body.remaining(), Errno.EINVAL);
    }
    byte[] entries = new byte[body.remaining()];
    body.get(entries);
    if (exec == 0) {
      change(() -> report = new Report(errno, entries));
    } else if (errno == 0) {
      exec(exec, false).ifPresent(e -> e.looked(entries));
    }
  }

  /** ORDER: of what has ended we have heard by now, and it is no longer on our list. */
  private void known(ByteBuffer ids) {
    var there = new HashSet<Integer>();
    while (ids.remaining() >= Integer.BYTES) {
      there.add(ids.getInt());
    }
    for (int exec : List.copyOf(execs.keySet())) {
      if (!there.contains(exec)) {
        exec(exec, true).ifPresent(ExecEvents::unheard);
      }
    }
    change(
        () -> {
          highestKnown = there.stream().reduce(0, Math::max);
          known = true;
        });
  }

  /**
   * A message about an exec without a caller: the caller went with the last engine, or init was
   * told of it too late.
   */
  private void dismiss(int type, int exec) throws KernelException {
    switch (type) {
      case Protocol.MESSAGE_STARTED ->
          dismissals.add(() -> unlessLeft(() -> kill(exec, Signal.KILL, Duration.ZERO)));
      case Protocol.MESSAGE_REFUSED, Protocol.MESSAGE_ENDED ->
          dismissals.add(() -> unlessLeft(() -> forget(exec)));
      default -> {}
    }
  }

  /** RACE: we may be left meanwhile, but then init is not told any more. */
  private void unlessLeft(Dismissals.Word word) throws KernelException {
    if (!isLeft()) {
      word.say();
    }
  }

  private Optional<ExecEvents> exec(int exec, boolean last) {
    return Optional.ofNullable(last ? execs.remove(exec) : execs.get(exec));
  }

  private void launched(int pid) throws KernelException {
    Step.HEAR_LAUNCHED.reach();
    Fd fd = received.poll();
    if (fd == null) {
      throw new KernelException("find the pidfd that came with pid " + pid, Errno.EINVAL);
    }
    change(() -> init = Pidfd.of(pid, fd));
  }

  private void listening(int errno) throws KernelException {
    // KERNEL: bytes of a message without descriptors may come with those of the next.
    Fd fd = errno == 0 ? received.poll() : null;
    if (awaitedSockets() == 0 || (errno == 0 && fd == null)) {
      throw new KernelException("understand what init listens at", Errno.EINVAL);
    }
    if (fd != null) {
      scope.own(() -> makePrompt(fd));
    }
    if (awaitedSockets() > 1 && fd != null) {
      // Whoever asked for it has given up.
      makePrompt(fd);
      scope.release(fd);
    }
    change(
        () -> {
          awaitedSockets--;
          listening = awaitedSockets == 0 ? new Listening(errno, Optional.ofNullable(fd)) : null;
        });
  }

  /** SAFETY: init has it as well, and a close of it may take as long as SO_LINGER says. */
  private static void makePrompt(Fd listener) {
    try {
      TcpSocket.neverLinger(listener);
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=linger_not_reset, ignoring: it is closed already", e);
    }
  }

  private void hello(ByteBuffer body) throws KernelException {
    Step.HEAR_HELLO.reach();
    int spoken = body.getInt();
    byte[] echo = new byte[Protocol.NONCE_SIZE];
    body.get(echo);
    if (!isServed(spoken) || !Arrays.equals(echo, nonce)) {
      throw new KernelException(
          "trust hello of version " + spoken + " with nonce " + HexFormat.of().formatHex(echo),
          Errno.EINVAL);
    }
    change(
        () -> {
          hello = true;
          version = spoken;
        });
  }

  private static boolean isServed(int version) {
    return version >= OLDEST_SERVED && version <= Protocol.PROTOCOL_VERSION;
  }

  private void change(Runnable change) {
    state.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      state.unlock();
    }
  }

  /** The other end is gone: so is every exec that has not ended. */
  private void close() {
    Runnable told;
    state.lock();
    try {
      closed = true;
      told = listener;
      changed.signalAll();
    } finally {
      state.unlock();
    }
    told.run();
    for (Integer exec : List.copyOf(execs.keySet())) {
      ExecEvents events = execs.remove(exec);
      if (events != null) {
        events.lost();
      }
    }
  }
}
