package dev.ebb.box;

import dev.ebb.egress.BoxEgress;
import dev.ebb.egress.Egress;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.EgressPolicy;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The network access of a box through the egress proxy.
 *
 * <p>Used by the thread that makes, adopts or hands out the box, later under its release lock.
 */
final class BoxNetwork {
  private static final Duration LISTEN_BOUND = Duration.ofSeconds(5);

  private final BoxId id;
  private final BoxHost host;
  private final Scope scope;
  private final BoxLifecycle lifecycle;
  private final InitProcess init;
  private @Nullable BoxEgress egress;

  BoxNetwork(BoxId id, BoxHost host, Scope scope, BoxLifecycle lifecycle, InitProcess init) {
    this.id = id;
    this.host = host;
    this.scope = scope;
    this.lifecycle = lifecycle;
    this.init = init;
  }

  /** Opens the proxy of a box with a policy; no-op without one. */
  void open(EgressPolicy policy) throws KernelException, InterruptedException {
    if (!policy.isEmpty()) {
      openAlways(policy);
    }
  }

  /**
   * Opens the proxy even for a policy that allows nothing: connections are then refused at once.
   */
  void openAlways(EgressPolicy policy) throws KernelException, InterruptedException {
    Fd listener = init.anySandbox().orElseThrow().listen(Egress.PORT, Deadline.in(LISTEN_BOUND));
    Step.OPEN_EGRESS.reach();
    egress =
        host.egress()
            .open(scope, id.value(), listener, policy, () -> lifecycle.state() == BoxState.PAUSED);
  }

  /** Changes the policy and records it, or leaves both unchanged. */
  void change(Network before, Network wanted, Detachment record) throws InterruptedException {
    if (!wanted.isOwn() || !before.isOwn()) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST, "a box has the network of the host from its beginning, or never");
    }
    try {
      apply(wanted.policy());
      try {
        record.noteNetwork(wanted);
      } catch (KernelException e) {
        apply(before.policy());
        throw e;
      }
    } catch (KernelException e) {
      throw cannotChange(e);
    }
  }

  private void apply(EgressPolicy policy) throws KernelException, InterruptedException {
    BoxEgress current = egress;
    if (current == null) {
      open(policy);
    } else {
      current.change(policy);
    }
  }

  private SandboxException cannotChange(KernelException e) {
    ErrorCode code =
        switch (e.errno()) {
          case EADDRINUSE -> ErrorCode.CONFLICT;
          case EOPNOTSUPP -> ErrorCode.UNSUPPORTED;
          default -> ErrorCode.SETUP_FAILED;
        };
    return new SandboxException(
        code, "cannot change the network of box " + id + ": " + e.getMessage(), e);
  }

  /** Closes it at once, even if processes of the box remain. */
  void close() throws KernelException {
    BoxEgress current = egress;
    egress = null;
    if (current != null) {
      scope.release(current);
    }
  }
}
