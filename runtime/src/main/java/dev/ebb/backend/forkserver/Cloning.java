package dev.ebb.backend.forkserver;

import dev.ebb.backend.InitSandbox;
import dev.ebb.backend.Launch;
import dev.ebb.backend.Sandbox;
import dev.ebb.backend.bubblewrap.Refusal;
import dev.ebb.fault.Step;
import dev.ebb.init.InitChannel;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import java.util.Optional;

/** A box that a {@link Forkserver} was ordered to make. */
final class Cloning implements Launch {
  private final Forkserver forkserver;
  private final InitChannel channel;
  private final Sandbox sandbox;
  private final Loss loss;
  private volatile boolean up;

  Cloning(Forkserver forkserver, InitChannel channel, Loss loss) {
    this.forkserver = forkserver;
    this.channel = channel;
    this.loss = loss;
    sandbox = new InitSandbox(channel);
  }

  /** Called when a forkserver died while making a box, or did not answer. */
  interface Loss {
    void end(Forkserver lost, String reason) throws InterruptedException;
  }

  @Override
  public Sandbox sandbox() {
    return sandbox;
  }

  @Override
  public Optional<Pidfd> outside() {
    return Optional.empty();
  }

  @Override
  public void await(Deadline deadline)
      throws KernelException, SetupException, MakerLostException, InterruptedException {
    try {
      Step.AWAIT_CLONE.reach();
      up = channel.awaitHello(deadline.sooner(Forkserver.PATIENCE)).isPresent();
      if (!up) {
        throw refusal();
      }
    } catch (MakerLostException e) {
      loss.end(forkserver, String.valueOf(e.getMessage()));
      throw e;
    } finally {
      forkserver.finish(channel);
    }
  }

  /** RACE: its end is visible on the socket of the box as well, and perhaps there first. */
  private SetupException refusal() throws KernelException, MakerLostException {
    if (channel.unmade().isPresent()) {
      String why = channel.unmade().get();
      // A box has no process yet, so the limit that refused its first one is the host's.
      return new SetupException(
          "the box could not be made" + Refusal.explain(": " + why), why.endsWith("EAGAIN"));
    }
    if (forkserver.isGone()) {
      throw forkserver.dismiss("is gone");
    }
    if (channel.init().isEmpty()) {
      throw forkserver.dismiss("does not answer");
    }
    return new SetupException("the box's init did not say hello");
  }

  /**
   * RACE: the order may still be on its way. An init that it makes sees EOF on its control socket
   * and ends. Once every copy of init's end of the socket is closed, no init exists or will.
   */
  @Override
  public boolean callOff(Deadline deadline) throws KernelException, InterruptedException {
    channel.endSending();
    if (channel.awaitClosed(deadline.sooner(Forkserver.PATIENCE))) {
      return true;
    }
    var _ = forkserver.dismiss("does not answer");
    return channel.awaitClosed(deadline);
  }

  @Override
  public boolean isUp() {
    return up;
  }
}
