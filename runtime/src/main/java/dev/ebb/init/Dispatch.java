package dev.ebb.init;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.TcpSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashSet;

/**
 * Hands each message of init to the part of the channel that it is for, and refuses invalid ones.
 * For the poller's thread.
 */
final class Dispatch {
  private final InitChannel channel;
  private final InitWire wire;
  private final Greeting greeting;
  private final InitQueries queries;
  private final ExecTable execs;

  /** Whether an earlier engine had this box. */
  private final boolean isLater;

  private final Dismissals dismissals = new Dismissals();

  /** Whether the box lives on without this engine. */
  private volatile boolean left;

  Dispatch(
      InitChannel channel,
      InitWire wire,
      Greeting greeting,
      InitQueries queries,
      ExecTable execs,
      boolean isLater) {
    this.channel = channel;
    this.wire = wire;
    this.greeting = greeting;
    this.queries = queries;
    this.execs = execs;
    this.isLater = isLater;
  }

  /** Sends init nothing more about execs without a caller; from any thread. */
  void leave() {
    left = true;
  }

  /** SAFETY: the pidfd of init, and sockets that were asked for; our table is not the box's. */
  boolean isExpected(Fd fd) throws KernelException {
    return greeting.init().isEmpty()
        ? wire.descriptors() == 0 && Pidfd.isOne(fd)
        : wire.descriptors() < queries.awaitedSockets() && TcpSocket.isListening(fd);
  }

  void dispatch(IncomingMessages.Message message) throws KernelException {
    int exec = message.exec();
    if (exec != 0 && !execs.contains(exec)) {
      dismiss(message.type(), exec);
      if (isLater) {
        return;
      }
    }
    ByteBuffer body = message.body();
    switch (message.type()) {
      case Protocol.MESSAGE_LAUNCHED -> greeting.launched(body.getInt(), wire.takeDescriptor());
      case Protocol.MESSAGE_HELLO -> greeting.hello(body);
      case Protocol.MESSAGE_UNMADE -> greeting.unmade(Protocol.text(body));
      case Protocol.MESSAGE_STARTED -> execs.started(exec, body);
      case Protocol.MESSAGE_OUTPUT -> execs.output(exec, body);
      case Protocol.MESSAGE_NEED_LOG -> execs.find(exec).ifPresent(ExecEvents::needLog);
      case Protocol.MESSAGE_SEGMENT -> execs.segment(exec, body);
      case Protocol.MESSAGE_REFUSED -> execs.refused(exec, body);
      case Protocol.MESSAGE_ENDED -> execs.ended(exec, body);
      case Protocol.MESSAGE_LISTENING -> queries.listening(body.getInt());
      case Protocol.MESSAGE_FILE_WRITTEN, Protocol.MESSAGE_LISTED ->
          report(message.type(), exec, body);
      case Protocol.MESSAGE_CONTENTS -> queries.contents(Protocol.contents(body));
      default -> {
        if (message.type() != Protocol.MESSAGE_SYNCED || !isLater) {
          throw new KernelException("understand message type " + message.type(), Errno.EINVAL);
        }
        synced(body);
      }
    }
  }

  private void report(int type, int exec, ByteBuffer body) throws KernelException {
    int errno = body.getInt();
    if (body.remaining() > Protocol.REPORT_MAX || (exec != 0 && type != Protocol.MESSAGE_LISTED)) {
      throw new KernelException("understand a report of " + body.remaining(), Errno.EINVAL);
    }
    byte[] entries = new byte[body.remaining()];
    body.get(entries);
    if (exec == 0) {
      queries.reported(errno, entries);
    } else if (errno == 0) {
      execs.find(exec).ifPresent(events -> events.listed(entries));
    }
  }

  private void synced(ByteBuffer ids) throws KernelException {
    Step.HEAR_SYNCED.reach();
    var there = new HashSet<Integer>();
    while (ids.remaining() >= Integer.BYTES) {
      there.add(ids.getInt());
    }
    execs.keepOnly(there);
    greeting.synced(there.stream().reduce(0, Math::max));
  }

  // --- execs without a caller ---

  /**
   * Handles a message about an exec without a caller: the caller went with the last engine, or init
   * was informed too late.
   */
  private void dismiss(int type, int exec) throws KernelException {
    switch (type) {
      case Protocol.MESSAGE_STARTED ->
          dismissals.add(() -> unlessLeft(() -> channel.kill(exec, Signal.KILL, Duration.ZERO)));
      case Protocol.MESSAGE_REFUSED, Protocol.MESSAGE_ENDED ->
          dismissals.add(() -> unlessLeft(() -> channel.forget(exec)));
      default -> {}
    }
  }

  /** RACE: the channel may be left meanwhile, but then nothing more is sent to init. */
  private void unlessLeft(Dismissals.Message message) throws KernelException {
    if (!left) {
      message.send();
    }
  }
}
