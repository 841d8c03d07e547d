package dev.ebb.backend.forkserver;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.InitSandbox;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.Sandbox;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes boxes with a forkserver, which is started once it is worth its cost. Thread-safe. */
public final class ForkserverBackend implements SandboxBackend {
  public static final String NAME = Forkserver.NAME;

  private final BackendHost host;
  private final StartPolicy policy;
  private final CurrentForkserver forkserver;
  private final AtomicInteger asked = new AtomicInteger();

  /** Uses {@code bwrap} for the template of its boxes. */
  public ForkserverBackend(BackendHost host, Path bwrap, StartPolicy policy) {
    this.host = host;
    this.policy = policy;
    forkserver = new CurrentForkserver(host, bwrap, NAME, Optional.empty());
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    return InitSandbox.CAPABILITIES;
  }

  @Override
  public Optional<HostLack> lack() {
    return forkserver.lack();
  }

  @Override
  public void prepare() throws InterruptedException {
    if (policy == StartPolicy.ALWAYS) {
      forkserver.prepare();
    }
  }

  @Override
  public boolean launch(LaunchOrder order, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException {
    if (policy == StartPolicy.NEVER && !order.isNamed()) {
      return false;
    }
    boolean isWanted =
        asked.incrementAndGet() > 1 || policy == StartPolicy.ALWAYS || order.isNamed();
    return forkserver.launch(order, isWanted, begun);
  }

  @Override
  public Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init)
      throws KernelException {
    return InitSandbox.reconnect(host, scope, directory, nonce, init);
  }

  @Override
  public void close() throws KernelException {
    forkserver.close();
  }
}
