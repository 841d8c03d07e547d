package dev.ebb.backend;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.util.Optional;

/**
 * One way to make sandboxes.
 *
 * <p>What it holds on the host beside its boxes, it holds on the ledger under its name, and gives
 * back when it is closed; its boxes live on. Thread-safe.
 */
public interface SandboxBackend {
  /** As callers ask for it, and as a box is recorded. No box has this name. */
  String name();

  Capabilities capabilities();

  /** What keeps it from making boxes on this host now, as far as is known without making one. */
  Optional<HostLack> lack();

  /**
   * Begins to make a box that it has the capabilities for, tells {@code begun} of it, and returns
   * without waiting for it.
   *
   * @return false when it cannot make one now, and nothing was begun
   * @throws Launch.MakerLostException when it was begun, and another backend may make it
   */
  boolean launch(LaunchOrder order, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException;

  /**
   * Connects to a box that an earlier engine had detached.
   *
   * @param directory of the box, with the socket of its init
   * @param nonce what its init was given
   * @throws KernelException ECONNREFUSED or ENOENT without a listener: its init is dead
   */
  Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init) throws KernelException;

  /** Has ready what the first box would wait for. */
  default void prepare() throws InterruptedException {}

  /**
   * From now on its boxes have a copy of such a process; asked of one with {@link
   * Capability#ZYGOTE}.
   *
   * @return what keeps it from that
   */
  default Optional<HostLack> copy(ZygotePolicy wanted) throws KernelException {
    throw new UnsupportedOperationException(name());
  }

  /** Makes no box any more, and gives back what it holds. */
  default void close() throws KernelException {}
}
