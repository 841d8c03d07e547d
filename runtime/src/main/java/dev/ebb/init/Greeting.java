package dev.ebb.init;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Pidfd;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The first messages on a channel: the process of init (LAUNCHED), that it is the init of this box
 * (HELLO), on a later connection its execs (SYNCED), or why there will be no box (UNMADE).
 * Thread-safe.
 */
final class Greeting {
  private final ChannelState state;
  private final OrderedLock lock;
  private final byte[] nonce;

  @GuardedBy("lock")
  private @Nullable Pidfd init;

  @GuardedBy("lock")
  private @Nullable String unmade;

  @GuardedBy("lock")
  private boolean forsaken;

  @GuardedBy("lock")
  private boolean hello;

  @GuardedBy("lock")
  private boolean synced;

  @GuardedBy("lock")
  private int highestKnown;

  Greeting(ChannelState state, byte[] nonce) {
    this.state = state;
    this.lock = state.lock();
    this.nonce = nonce.clone();
  }

  byte[] nonce() {
    return nonce.clone();
  }

  // --- messages ---

  void launched(Pidfd process) {
    lock.lock();
    try {
      init = process;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes the pidfd that came with LAUNCHED.
   *
   * @param fd null: none came
   */
  void launched(int pid, @Nullable Fd fd) throws KernelException {
    Step.HEAR_LAUNCHED.reach();
    if (fd == null) {
      throw new KernelException("find the pidfd that came with pid " + pid, Errno.EINVAL);
    }
    launched(Pidfd.of(pid, fd));
  }

  void hello(ByteBuffer body) throws KernelException {
    Step.HEAR_HELLO.reach();
    int version = body.getInt();
    byte[] echo = new byte[Protocol.NONCE_SIZE];
    body.get(echo);
    if (version != Protocol.PROTOCOL_VERSION || !Arrays.equals(echo, nonce)) {
      throw new KernelException(
          "trust hello of version " + version + " with nonce " + HexFormat.of().formatHex(echo),
          Errno.EINVAL);
    }
    lock.lock();
    try {
      hello = true;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  void unmade(String why) {
    lock.lock();
    try {
      unmade = why;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  /** {@code highest}: the highest number of an exec that init has. */
  void synced(int highest) {
    lock.lock();
    try {
      highestKnown = highest;
      synced = true;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Marks a box that was not announced. RACE: what announces and greets it may lie unread in the
   * socket; it comes too late from then on.
   *
   * @return false when it was announced before
   */
  boolean forsakeUnlessAnnounced() {
    lock.lock();
    try {
      forsaken |= init == null;
      return init == null;
    } finally {
      lock.unlock();
    }
  }

  // --- state ---

  Optional<Pidfd> init() {
    lock.lock();
    try {
      return Optional.ofNullable(init);
    } finally {
      lock.unlock();
    }
  }

  /** Returns init, once it has been announced and has sent HELLO. */
  Optional<Pidfd> greeted() {
    lock.lock();
    try {
      return hello && !forsaken ? Optional.ofNullable(init) : Optional.empty();
    } finally {
      lock.unlock();
    }
  }

  Optional<String> unmade() {
    lock.lock();
    try {
      return Optional.ofNullable(unmade);
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether init has sent HELLO, and the state of each exec. */
  boolean isSynced() {
    lock.lock();
    try {
      return hello && synced;
    } finally {
      lock.unlock();
    }
  }

  int highestKnown() {
    lock.lock();
    try {
      return highestKnown;
    } finally {
      lock.unlock();
    }
  }
}
