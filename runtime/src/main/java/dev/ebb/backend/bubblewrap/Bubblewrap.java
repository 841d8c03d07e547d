package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.cgroup.Placement;
import dev.ebb.fault.Step;
import dev.ebb.init.Discards;
import dev.ebb.init.InitBinary;
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
 * bwrap's outer process and itself. What is left is init, adopted by this process.
 */
public final class Bubblewrap {
  private final Poller poller;
  private final InitBinary binary;
  private final Path program;
  private final Discards discards;

  /** Uses {@code program}, the bwrap of this host. */
  public Bubblewrap(Poller poller, InitBinary binary, Path program) {
    this.poller = poller;
    this.binary = binary;
    this.program = program;
    discards = new Discards(poller, binary);
  }

  private final class Setup implements Launch {
    private final Scope scope;
    private final InitChannel channel;
    private final Pidfd outside;
    private final Fd log;
    private volatile boolean up;

    private Setup(Scope scope, InitChannel channel, Pidfd outside, Fd log) {
      this.scope = scope;
      this.channel = channel;
      this.outside = outside;
      this.log = log;
    }

    @Override
    public InitChannel channel() {
      return channel;
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
        var ended = new Readiness(brief, poller, outside.fd(), Poller.Interest.READ);
        if (!ended.awaitSurely(deadline)) {
          throw new SetupException("the box was not up in time" + said());
        }
      }
      Step.REAP_OUTSIDE.reach();
      var status = outside.reap().orElseThrow();
      if (!status.isExit()) {
        throw new SetupException(
            "the box could not be made: ebb-init was killed by signal " + status.status() + said());
      }
      if (status.status() != 0) {
        throw new SetupException("the box could not be made" + Refusal.explain(said()));
      }
      if (channel.awaitHello(deadline).isEmpty()) {
        throw new SetupException("the box's init did not say hello" + said());
      }
      up = true;
      scope.release(outside.fd());
      scope.release(log);
    }

    /** ORDER: outside is dead, but its last words may be unread. */
    @Override
    public boolean callOff(Deadline deadline) throws InterruptedException {
      return channel.hangUp(deadline);
    }

    @Override
    public boolean isUp() {
      return up;
    }

    private String said() throws KernelException {
      return SpawnPlan.said(log);
    }
  }

  /** See {@link Forkserver#start}. */
  public Forkserver startForkserver(
      Scope scope,
      Optional<Forkserver.Userns> userns,
      Optional<Path> cgroup,
      Optional<Zygote> zygote,
      Forkserver.Spawned spawned)
      throws KernelException {
    return Forkserver.start(
        scope, poller, binary, program, discards, userns, cgroup, zygote, spawned);
  }

  /** Spawns the outside role, tells {@code begun} of it, and returns at once. */
  public void launch(
      Scope scope, String box, SandboxSpec spec, Placement placement, int uid, Launch.Begun begun)
      throws KernelException {
    try (var passing = new Scope()) {
      Step.OPEN_SOCKET.reach();
      InitWire.Pair control = InitWire.pair(scope, passing, discards::discard);
      Fd log = Fd.memory(scope, "ebb-setup-log");

      var plan = new SpawnPlan(passing, log, "outside", "--name", box);
      plan.option("--uid", uid);
      plan.option("--gid", uid);
      plan.option("--control", control.peer());
      plan.option("--self", binary.fd());
      if (placement.box().isPresent()) {
        plan.option("--box", SpawnPlan.directory(passing, placement.box().get()));
      }
      if (placement.init().isPresent()) {
        plan.option("--leaf", SpawnPlan.directory(passing, placement.init().get()));
      }
      for (Path tasks : placement.tasks()) {
        plan.option("--join", Fd.open(passing, tasks, Fd.Flag.WRITE));
      }
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
      plan.say("--", program.toString());
      plan.say(BwrapCommandLine.of(spec, firstFile));

      var channel = InitChannel.open(scope, poller, control.ours());
      Step.SPAWN.reach();
      Pidfd outside = Spawn.spawn(scope, binary.path(), plan.words(), plan.fds());
      begun.accept(new Setup(scope, channel, outside, log));
    }
  }

  private static void mount(Scope scope, SpawnPlan plan, Path host, boolean readOnly)
      throws KernelException {
    int number = plan.pass(Fd.openDirectly(scope, host, Fd.Flag.PATH));
    plan.say("--mount", number + (readOnly ? ":ro" : ":rw"));
  }

  /** RACE: whatever was checked before, it is looked at again now that it cannot change. */
  private static Fd copied(Scope scope, Path host, ByteSize most) throws KernelException {
    // A pipe in its place would make the open wait for a writer.
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
