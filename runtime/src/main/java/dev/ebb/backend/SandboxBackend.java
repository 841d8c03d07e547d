package dev.ebb.backend;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.util.Optional;

/**
 * One way to make sandboxes.
 *
 * <p>Its own resources on the host, beside its boxes, are on the ledger under its name. It releases
 * them when it is closed; its boxes live on. Thread-safe.
 */
public interface SandboxBackend {
  /** Returns its name in requests and records. No box has this name. */
  String name();

  Capabilities capabilities();

  /**
   * Returns what prevents it from making boxes on this host now, as far as is known without making
   * one.
   */
  default Optional<HostLack> lack() {
    return Optional.empty();
  }

  /**
   * Begins to make a box that it has the capabilities for, passes it to {@code begun}, and returns
   * without waiting for it.
   *
   * @return false if it cannot make a box now; then nothing was begun
   * @throws Launch.MakerLostException when it was begun and failed, and another backend may make
   *     the box
   */
  boolean launch(LaunchOrder order, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException;

  /**
   * Connects to a box that an earlier engine had detached.
   *
   * @param directory of the box, with the socket of its init
   * @param nonce the nonce that its init was given
   * @throws KernelException ECONNREFUSED or ENOENT if nothing listens: its init is dead
   */
  Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init) throws KernelException;

  /** Prepares what the first box would otherwise wait for. */
  default void prepare() throws InterruptedException {}

  /**
   * Gives each of its boxes a copy of this zygote from now on; called on a backend with {@link
   * Capability#ZYGOTE}.
   *
   * @return what prevents that
   */
  default Optional<HostLack> copy(ZygotePolicy wanted) throws KernelException {
    throw new UnsupportedOperationException(name());
  }

  /** Returns whether it can make a box without a long preparation. */
  default boolean isReady() {
    return true;
  }

  /** Releases what it has prepared; the next box that needs it prepares it again. */
  default void rest() throws KernelException {}

  /** Stops making boxes, and releases its own resources. */
  default void close() throws KernelException {}
}
