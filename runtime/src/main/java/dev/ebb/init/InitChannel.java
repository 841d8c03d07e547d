package dev.ebb.init;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.model.ExecKind;
import dev.ebb.store.LogDirectory;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The engine's end of the control socket of one box: sends requests to init, and receives its
 * messages.
 *
 * <p>Closing it ends the box: init exits when it sees EOF. Messages arrive on the poller's thread.
 * Thread-safe.
 */
public final class InitChannel {
  private static final Logger LOG = System.getLogger(InitChannel.class.getName());

  private final Scope scope;
  private final Poller poller;
  private final InitWire wire;

  private final ChannelState state;
  private final Greeting greeting;
  private final InitQueries queries;
  private final ExecTable execs = new ExecTable();
  private final Dispatch dispatch;

  private InitChannel(Scope scope, Poller poller, InitWire wire, byte[] nonce, boolean isLater)
      throws KernelException {
    this.scope = scope;
    this.poller = poller;
    this.wire = wire;
    state = new ChannelState(poller);
    greeting = new Greeting(state, nonce);
    queries = new InitQueries(scope, wire, state);
    dispatch = new Dispatch(this, wire, greeting, queries, execs, isLater);
    // RACE: once this process closes the channel, no EOF arrives that would end the execs.
    scope.own(this::closeAll);
  }

  private void closeAll() throws KernelException {
    close();
    wire.close();
  }

  /** Opens the first connection to a box: gives init its nonce; events flow at once. */
  public static InitChannel open(Scope scope, Poller poller, InitWire wire) throws KernelException {
    return open(scope, poller, wire, Self.randomBytes(Protocol.NONCE_SIZE));
  }

  static InitChannel open(Scope scope, Poller poller, InitWire wire, byte[] nonce)
      throws KernelException {
    var channel = new InitChannel(scope, poller, wire, nonce, false);
    wire.send(nonce);
    channel.listen();
    return channel;
  }

  /**
   * Opens a later connection to a detached box, whose init got {@code nonce} from the engine
   * before; the caller then calls {@link #expect} for each exec that may still run, and {@link
   * #greet}.
   *
   * @throws KernelException ECONNREFUSED or ENOENT without a listener: its init is dead
   */
  public static InitChannel reconnect(
      Scope scope,
      Poller poller,
      InitWire.Discarding discarding,
      Fd directory,
      byte[] nonce,
      Pidfd init)
      throws KernelException {
    Step.RECONNECT.reach();
    var wire = InitWire.connect(scope, directory, LogDirectory.CONTROL, discarding);
    var channel = new InitChannel(scope, poller, wire, nonce, true);
    channel.greeting.launched(init);
    return channel;
  }

  private void listen() throws KernelException {
    wire.listen(scope, poller, this::receive);
  }

  /** Returns what proves on a later connection that init is the one of this box. */
  public byte[] nonce() {
    return greeting.nonce();
  }

  /** Returns the requests to init that have an answer. */
  public InitQueries queries() {
    return queries;
  }

  // --- set-up ---

  /** Waits for LAUNCHED and HELLO; returns empty when the box died or the deadline came first. */
  public Optional<Pidfd> awaitHello(Deadline deadline) throws InterruptedException {
    state.await(() -> greeting.greeted().isPresent() || unmade().isPresent(), deadline);
    return greeting.greeted();
  }

  /**
   * Sends no more to a box that was not announced. RACE: its announcement and greeting may lie
   * unread in the socket; they come too late then, because its init has been ordered to end.
   */
  public void forsakeUnlessAnnounced() {
    if (greeting.forsakeUnlessAnnounced()) {
      endSending();
    }
  }

  /** Returns why there will be no box, if its maker reported that. */
  public Optional<String> unmade() {
    return greeting.unmade();
  }

  /** Returns the box's pid 1, if it was announced. */
  public Optional<Pidfd> init() {
    return greeting.init();
  }

  // --- the engine after this one ---

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
      wire.send(Protocol.detach(deadline), List.of(listening));
    }
  }

  /** Adds the listener of an exec that an engine before this one started. */
  public void expect(int exec, ExecEvents events) {
    execs.add(exec, events);
  }

  /**
   * Receives the state of each exec; an exec that init does not know is lost.
   *
   * @param callOff cancels the wait
   * @return false when the box died, it was called off, or the deadline came first
   */
  public boolean greet(Deadline deadline, CallOff callOff)
      throws KernelException, InterruptedException {
    Step.GREET.reach();
    listen();
    callOff.listen(state::signal);
    state.await(() -> greeting.isSynced() || callOff.isCalled(), deadline);
    callOff.listen(() -> {});
    return greeting.isSynced();
  }

  /** Returns the highest number of a command that init knew of when it was greeted. */
  public int highestKnown() {
    return greeting.highestKnown();
  }

  /** Lets init forget the end of an exec, which is recorded now. */
  public void forget(int exec) throws KernelException {
    Step.SEND_FORGET.reach();
    wire.send(Protocol.forget(exec));
  }

  /** Hangs up on a detached box, which goes on: its execs are not lost. */
  public void leave() {
    // ORDER: messages from here on end and forget nothing, for the next engine must receive them.
    dispatch.leave();
    whenClosed(() -> {});
    execs.clear();
    hangUp();
  }

  // --- the end ---

  /**
   * Ends the connection, and receives what was sent before: then {@link #init} is final.
   *
   * @return false when the deadline came first
   */
  public boolean hangUp(Deadline deadline) throws InterruptedException {
    hangUp();
    return awaitClosed(deadline);
  }

  /**
   * Stops sending, which init takes for the end of the engine; messages arrive until every process
   * has closed the other end.
   */
  public void endSending() {
    try {
      wire.endSending();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=say_no_more_failed, ignoring: the box is being released", e);
    }
  }

  /** Returns false when the other end was still open at the deadline. */
  public boolean awaitClosed(Deadline deadline) throws InterruptedException {
    return state.await(state::isClosed, deadline);
  }

  /** Runs {@code listener} once the other end is gone, at once if it is already. */
  public void whenClosed(Runnable listener) {
    state.whenClosed(listener);
  }

  /**
   * Ends a connection on which a message could not be understood, here or there: both ends see EOF,
   * and the box ends.
   */
  private void hangUp() {
    try {
      wire.hangUp();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=hang_up_failed, ignoring: the box is being released", e);
    }
  }

  /** Called when the other end is closed: every exec that has not ended is lost. */
  private void close() {
    state.close();
    execs.loseAll();
  }

  // --- execs ---

  /** Asks init to start a command; {@code fds}: logs, those of its leaf, stdin. */
  public void start(int exec, StartRequest request, List<Fd> fds, ExecEvents events)
      throws KernelException {
    start(exec, request, fds, false, events);
  }

  /**
   * Asks init to start a command.
   *
   * @param fds logs, those of its leaf, stdin
   * @param isPiped the last descriptor is its stdout, and it has no stdin
   */
  public void start(
      int exec, StartRequest request, List<Fd> fds, boolean isPiped, ExecEvents events)
      throws KernelException {
    byte[] message = Protocol.start(exec, fds.size(), request, isPiped);
    if (fds.size() > Protocol.MESSAGE_FDS_MAX) {
      throw new IllegalArgumentException("too many descriptors for one message: " + fds.size());
    }
    if (message.length - Protocol.HEADER_SIZE > Protocol.MESSAGE_MAX) {
      throw new KernelException("start a command with such long arguments", Errno.E2BIG);
    }
    execs.add(exec, events);
    try {
      Step.SEND_START.reach();
      wire.send(message, fds);
    } catch (KernelException e) {
      var _ = execs.remove(exec);
      throw e;
    }
    // RACE: the channel may have closed before our entry was in the map.
    if (state.isClosed()) {
      execs.remove(exec).ifPresent(ExecEvents::lost);
    }
  }

  /** Starts the kill ladder of an exec; no error if it has ended. */
  public void kill(int exec, Signal signal, Duration grace) throws KernelException {
    Step.SEND_KILL.reach();
    wire.send(Protocol.kill(exec, signal.number(), grace));
  }

  /**
   * Answers {@link ExecEvents#needLog}: its output goes to these logs, also what init has buffered.
   */
  public void giveLogs(int exec, Fd stdout, Fd stderr) throws KernelException {
    wire.send(Protocol.logFds(exec, 0), List.of(stdout, stderr));
  }

  /** Answers {@link ExecEvents#needLog} without logs: output from now on is lost. */
  public void refuseLogs(int exec, int errno) throws KernelException {
    wire.send(Protocol.logFds(exec, errno));
  }

  /** Ends the segment that an exec writes; no error if it has ended. */
  public void split(int exec) throws KernelException {
    wire.send(Protocol.split(exec));
  }

  /** Asks for the report of an exec's start at once; no error if it has ended. */
  public void awaitStart(int exec) throws KernelException {
    wire.send(Protocol.awaitStart(exec));
  }

  /** Changes the size of an exec's terminal; no error if it has ended. */
  public void resize(int exec, ExecKind.Terminal size) throws KernelException {
    wire.send(Protocol.resize(exec, size));
  }

  /** Sends a signal other than SIGKILL to all processes of an exec; no error if it has ended. */
  public void signal(int exec, Signal signal) throws KernelException {
    wire.send(Protocol.signal(exec, signal.number()));
  }

  /** Restarts the limits of an exec that has waited; no error if it has ended. */
  public void rearm(int exec, StartRequest request) throws KernelException {
    wire.send(Protocol.rearm(exec, request));
  }

  // --- incoming messages ---

  private void receive() {
    try {
      if (wire.receive(scope, dispatch::isExpected, dispatch::dispatch)) {
        wire.rearm();
      } else {
        close();
      }
    } catch (KernelException | RuntimeException e) {
      // RACE: the box may be released, and all that is used here closed, while this runs.
      if (!scope.isClosed()) {
        LOG.log(Level.ERROR, "event=channel_broken", e);
      }
      hangUp();
      close();
    }
  }
}
