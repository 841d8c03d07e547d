package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.Capability;
import dev.ebb.backend.InitSandbox;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.Sandbox;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.cgroup.Placement;
import dev.ebb.fault.Step;
import dev.ebb.init.InitChannel;
import dev.ebb.init.InitWire;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Spawn;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.Mount;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Makes boxes with bubblewrap.
 *
 * <p>The runtime spawns {@code ebb-init outside}, which clones bwrap into the box's cgroup as the
 * box's uid and stays until {@code ebb-init inside} is pid 1 of the new namespaces; then it ends
 * bwrap's outer process and itself. Only init remains; this process adopts it.
 */
public final class Bubblewrap implements SandboxBackend {
  public static final String NAME = "bubblewrap";

  private static final Capabilities CAPABILITIES =
      InitSandbox.CAPABILITIES.with(
          Capability.HOST_NETWORK, Capability.MOUNTS, Capability.COPIED_FILES);

  private final BackendHost host;
  private final Path program;

  /** Uses {@code program}, the bwrap of this host. */
  public Bubblewrap(BackendHost host, Path program) {
    this.host = host;
    this.program = program;
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
  public Sandbox reconnect(Scope scope, Fd directory, byte[] nonce, Pidfd init)
      throws KernelException {
    return InitSandbox.reconnect(host, scope, directory, nonce, init);
  }

  private final class Setup implements Launch {
    private final Scope scope;
    private final InitChannel channel;
    private final Sandbox sandbox;
    private final Pidfd outside;
    private final Fd log;
    private volatile boolean up;

    private Setup(Scope scope, InitChannel channel, Pidfd outside, Fd log) {
      this.scope = scope;
      this.channel = channel;
      sandbox = new InitSandbox(channel);
      this.outside = outside;
      this.log = log;
    }

    @Override
    public Sandbox sandbox() {
      return sandbox;
    }

    @Override
    public Optional<Pidfd> outside() {
      return Optional.of(outside);
    }

    @Override
    public void await(Deadline deadline)
        throws KernelException, SetupException, InterruptedException {
      Step.AWAIT_OUTSIDE.reach();
      try (var brief = new Scope()) {
        var ended = new Readiness(brief, host.poller(), outside.fd(), Poller.Interest.READ);
        if (!ended.awaitSurely(deadline)) {
          throw new SetupException("the box was not up in time" + message());
        }
      }
      Step.REAP_OUTSIDE.reach();
      var status = outside.reap().orElseThrow();
      if (!status.isExit()) {
        throw new SetupException(
            "the box could not be made: ebb-init was killed by signal "
                + status.status()
                + message());
      }
      if (status.status() != 0) {
        throw new SetupException("the box could not be made" + Refusal.explain(message()));
      }
      if (channel.awaitHello(deadline).isEmpty()) {
        throw new SetupException("the box's init did not say hello" + message());
      }
      up = true;
      scope.release(outside.fd());
      scope.release(log);
    }

    /** ORDER: outside is dead, but its last messages may be unread. */
    @Override
    public boolean callOff(Deadline deadline) throws InterruptedException {
      return channel.hangUp(deadline);
    }

    @Override
    public boolean isUp() {
      return up;
    }

    private String message() throws KernelException {
      return SpawnPlan.message(log);
    }
  }

  /** Spawns the outside role, passes it to {@code begun}, and returns at once. */
  @Override
  public boolean launch(LaunchOrder order, Launch.Begun begun) throws KernelException {
    Scope scope = order.scope();
    try (var passing = new Scope()) {
      Step.OPEN_SOCKET.reach();
      InitWire.Pair control = InitWire.pair(scope, passing, host.discards()::discard);
      Fd log = Fd.memory(scope, "ebb-setup-log");

      SpawnPlan plan = plan(order, passing, control.peer(), log);
      var channel = InitChannel.open(scope, host.poller(), control.ours());
      Step.SPAWN.reach();
      Pidfd outside = Spawn.spawn(scope, host.binary().path(), plan.words(), plan.fds());
      begun.accept(new Setup(scope, channel, outside, log));
      return true;
    }
  }

  private SpawnPlan plan(LaunchOrder order, Scope passing, Fd control, Fd log)
      throws KernelException {
    var spec = order.spec();
    var plan = new SpawnPlan(passing, log, "outside", "--name", order.box());
    plan.option("--uid", order.uid());
    plan.option("--gid", order.uid());
    plan.option("--control", control);
    plan.option("--self", host.binary().fd());
    place(order.placement(), plan, passing);
    for (Path directory : spec.packages()) {
      mount(passing, plan, directory, true);
    }
    for (Mount mount : spec.mounts()) {
      mount(passing, plan, mount.host(), mount.readOnly());
    }
    int firstFile = plan.made();
    for (CopiedFile file : spec.files()) {
      plan.option("--keep", copied(passing, file.host(), spec.disk()));
    }
    plan.add("--", program.toString());
    plan.add(BwrapCommandLine.of(spec, firstFile));
    return plan;
  }

  private static void place(Placement placement, SpawnPlan plan, Scope passing)
      throws KernelException {
    if (placement.box().isPresent()) {
      plan.option("--box", SpawnPlan.directory(passing, placement.box().get()));
    }
    if (placement.init().isPresent()) {
      plan.option("--leaf", SpawnPlan.directory(passing, placement.init().get()));
    }
    for (Path tasks : placement.tasks()) {
      plan.option("--join", Fd.open(passing, tasks, Fd.Flag.WRITE));
    }
  }

  private static void mount(Scope scope, SpawnPlan plan, Path host, boolean readOnly)
      throws KernelException {
    int number = plan.pass(Fd.openDirectly(scope, host, Fd.Flag.PATH));
    plan.add("--mount", number + (readOnly ? ":ro" : ":rw"));
  }

  /** RACE: earlier checks are repeated here on the open file, which cannot be replaced any more. */
  private static Fd copied(Scope scope, Path host, ByteSize most) throws KernelException {
    // If it were a pipe, the open would wait for a writer.
    Fd fd = Fd.openDirectly(scope, host, Fd.Flag.READ, Fd.Flag.NONBLOCK);
    FileStatus status = FileStatus.of(fd);
    if (!status.isRegular()) {
      throw new KernelException("copy " + host + ", which is no regular file", Errno.EINVAL);
    }
    if (status.size() > most.bytes()) {
      throw new KernelException("copy " + host + ", which is larger than disk", Errno.EFBIG);
    }
    return fd;
  }
}
