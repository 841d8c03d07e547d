package dev.ebb.backend.forkserver;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.Capability;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.InitSandbox;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.Sandbox;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.backend.ZygotePolicy;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes boxes with a zygote, once its interpreter is known: a forkserver inside an interpreter, of
 * which each box has a copy. Thread-safe.
 */
public final class ZygoteBackend implements SandboxBackend {
  public static final String NAME = "zygote";

  private static final HostLack UNFIT =
      new HostLack(
          "it needs cgroups, and a uid for each box", "run ebb as root where cgroups are writable");

  private static final HostLack UNUSED =
      new HostLack("no pool of this engine copies an interpreter", "");

  private static final Capabilities CAPABILITIES = InitSandbox.CAPABILITIES.with(Capability.ZYGOTE);

  private final BackendHost host;
  private final Path bwrap;
  private final StartPolicy policy;
  private volatile @Nullable CurrentForkserver zygote;

  /** Uses {@code bwrap} for the template of its boxes. */
  public ZygoteBackend(BackendHost host, Path bwrap, StartPolicy policy) {
    this.host = host;
    this.bwrap = bwrap;
    this.policy = policy;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    return CAPABILITIES;
  }

  @Override
  public Optional<HostLack> lack() {
    CurrentForkserver current = zygote;
    return current == null ? lackOfHost().or(() -> Optional.of(UNUSED)) : current.lack();
  }

  /** Its boxes must be isolated from it and from each other like all others. */
  private Optional<HostLack> lackOfHost() {
    boolean isUnfit = host.hierarchies().mode() == CgroupMode.NONE || host.uids().isShared();
    return isUnfit ? Optional.of(UNFIT) : Optional.empty();
  }

  @Override
  public Optional<HostLack> copy(ZygotePolicy wanted) throws KernelException {
    Optional<HostLack> lack = lackOfHost();
    if (lack.isPresent()) {
      return lack;
    }
    CurrentForkserver current = zygote;
    if (current == null) {
      zygote = new CurrentForkserver(host, bwrap, NAME, Optional.of(wanted));
    } else {
      current.replace(wanted);
    }
    return lack;
  }

  @Override
  public boolean launch(LaunchOrder order, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException {
    CurrentForkserver current = zygote;
    return current != null
        && (policy != StartPolicy.NEVER || order.isNamed())
        && current.launch(order, true, begun);
  }

  @Override
  public void prepare() throws InterruptedException {
    CurrentForkserver current = zygote;
    if (current != null && policy != StartPolicy.NEVER) {
      current.prepare();
    }
  }

  @Override
  public boolean isReady() {
    CurrentForkserver current = zygote;
    return current != null && current.isReady();
  }

  @Override
  public void rest() throws KernelException {
    CurrentForkserver current = zygote;
    if (current != null) {
      current.rest();
    }
  }

  @Override
  public Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init)
      throws KernelException {
    return InitSandbox.reconnect(host, scope, directory, nonce, init);
  }

  @Override
  public void close() throws KernelException {
    CurrentForkserver current = zygote;
    if (current != null) {
      current.close();
    }
  }
}
