package dev.ebb.backend.plain;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.Capability;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.Sandbox;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;

/** Makes real boxes, by bubblewrap, that can do less: another backend, as one is added. */
public final class PlainBackend implements SandboxBackend {
  public static final String NAME = "plain";

  private final String name;
  private final SandboxBackend bubblewrap;
  private final Capabilities capabilities;

  /** Makes a backend with the capabilities of bubblewrap, except these. */
  public PlainBackend(String name, BackendHost host, Capability... lacked) {
    this.name = name;
    bubblewrap = new Bubblewrap(host, Path.of("/usr/bin/bwrap"));
    capabilities = bubblewrap.capabilities().without(lacked);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public boolean launch(LaunchOrder order, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException {
    return bubblewrap.launch(order, begun);
  }

  @Override
  public Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init)
      throws KernelException {
    return bubblewrap.reconnect(scope, directory, nonce, init);
  }
}
