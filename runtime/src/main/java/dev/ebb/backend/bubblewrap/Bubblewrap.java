package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.CopiedFile;
import dev.ebb.backend.Mount;
import dev.ebb.backend.SandboxSpec;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.cgroup.Placement;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Spawn;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.process.Confinement;
import dev.ebb.step.Step;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes boxes with bubblewrap.
 *
 * <p>The runtime spawns {@code ebb-init outside}, which clones bwrap into the box's cgroup as the
 * box's uid and stays until {@code ebb-init inside} is pid 1 of the new namespaces; then it ends
 * bwrap's outer process and itself. What is left is init, adopted by this process.
 */
public final class Bubblewrap {
  private static final Path DEV_NULL = Path.of("/dev/null");
  private static final int MAX_SETUP_LOG = 4096;

  private final Poller poller;
  private final InitBinary binary;
  private final Path program;

  /** Uses {@code program}, the bwrap of this host. */
  public Bubblewrap(Poller poller, InitBinary binary, Path program) {
    this.poller = poller;
    this.binary = binary;
    this.program = program;
  }

  /** A box whose set-up has begun. */
  public final class Launch {
    private final Scope scope;
    private final InitChannel channel;
    private final Pidfd outside;
    private final Fd log;
    private volatile boolean up;

    private Launch(Scope scope, InitChannel channel, Pidfd outside, Fd log) {
      this.scope = scope;
      this.channel = channel;
      this.outside = outside;
      this.log = log;
    }

    public InitChannel channel() {
      return channel;
    }

    /** The process that makes the box: a child of ours until it is reaped. */
    public Pidfd outside() {
      return outside;
    }

    /**
     * Waits until init is up.
     *
     * @throws SetupException with what bwrap or ebb-init said, when it will not come up
     */
    public void await(Deadline deadline)
        throws KernelException, SetupException, InterruptedException {
      Step.AWAIT_OUTSIDE.reach();
      try (var brief = new Scope()) {
        var ended = new Readiness(brief, poller, outside.fd(), Poller.Interest.READ);
        if (!ended.await(deadline)) {
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
        String said = said();
        var remedies = Refusal.remedies(said, Confinement.ofThisProcess());
        throw new SetupException(
            "the box could not be made"
                + said
                + String.join("", remedies.stream().map(remedy -> "\n  " + remedy).toList()));
      }
      if (channel.awaitHello(deadline).isEmpty()) {
        throw new SetupException("the box's init did not say hello" + said());
      }
      up = true;
      scope.release(outside.fd());
      scope.release(log);
    }

    /** True once init has said hello; the outside role is gone then. */
    public boolean isUp() {
      return up;
    }

    private String said() throws KernelException {
      byte[] text = new byte[MAX_SETUP_LOG];
      int n = log.readAt(0, text, 0, text.length);
      return n <= 0 ? "" : ": " + new String(text, 0, n, StandardCharsets.UTF_8).strip();
    }
  }

  /** Takes over what was started. */
  @FunctionalInterface
  public interface Spawned {
    void accept(Launch launch) throws KernelException;
  }

  /** The box could not be made, for a reason worth telling the caller. */
  public static final class SetupException extends Exception {
    private static final long serialVersionUID = 1L;

    SetupException(String message) {
      super(message);
    }
  }

  /** Spawns the outside role, tells {@code spawned} of it, and returns at once. */
  public void launch(
      Scope scope, String box, SandboxSpec spec, Placement placement, int uid, Spawned spawned)
      throws KernelException {
    try (var passing = new Scope()) {
      byte[] nonce = Self.randomBytes(Protocol.NONCE_SIZE);
      Step.OPEN_SOCKET.reach();
      UnixSocket.Pair control = UnixSocket.pair(scope, passing);
      Fd log = Fd.memory(scope, "ebb-setup-log");
      Fd nothing = Fd.open(passing, DEV_NULL, Fd.Flag.READ_WRITE);

      var plan = new Plan(passing, box, uid);
      plan.pass(nothing);
      plan.pass(nothing);
      plan.pass(log);
      plan.option("--control", control.peer());
      plan.option("--self", binary.fd());
      if (placement.box().isPresent()) {
        plan.option("--box", directory(passing, placement.box().get()));
      }
      if (placement.init().isPresent()) {
        plan.option("--leaf", directory(passing, placement.init().get()));
      }
      for (Path tasks : placement.tasks()) {
        plan.option("--join", Fd.open(passing, tasks, Fd.Flag.WRITE));
      }
      plan.mounts(spec);
      int firstFile = plan.files(spec);
      plan.words.addAll(List.of("--", program.toString()));
      plan.words.addAll(BwrapCommandLine.of(spec, firstFile));

      var channel = InitChannel.open(scope, poller, control.ours(), nonce);
      Step.SPAWN.reach();
      Pidfd outside = Spawn.spawn(scope, binary.path(), plan.words, plan.fds);
      spawned.accept(new Launch(scope, channel, outside, log));
    }
  }

  private static Fd directory(Scope scope, Path path) throws KernelException {
    return Fd.open(scope, path, Fd.Flag.READ, Fd.Flag.DIRECTORY);
  }

  /** The command line of the outside role and the descriptors it names, growing together. */
  private static final class Plan {
    private final Scope scope;
    private final List<Fd> fds = new ArrayList<>();
    private final List<String> words = new ArrayList<>();

    Plan(Scope scope, String box, int uid) {
      this.scope = scope;
      String id = Integer.toString(uid);
      words.addAll(List.of("ebb-init", "outside", "--name", box, "--uid", id, "--gid", id));
    }

    int pass(Fd fd) {
      fds.add(fd);
      return fds.size() - 1;
    }

    void option(String name, Fd fd) {
      words.addAll(List.of(name, Integer.toString(pass(fd))));
    }

    void mounts(SandboxSpec spec) throws KernelException {
      for (Path directory : spec.packages()) {
        mount(directory, true);
      }
      for (Mount mount : spec.mounts()) {
        mount(mount.host(), mount.readOnly());
      }
    }

    private void mount(Path host, boolean readOnly) throws KernelException {
      int number = pass(Fd.openDirectly(scope, host, Fd.Flag.PATH));
      words.addAll(List.of("--mount", number + (readOnly ? ":ro" : ":rw")));
    }

    /** Passes the files bwrap shall copy, and returns the number of the first. */
    int files(SandboxSpec spec) throws KernelException {
      int first = fds.size();
      for (var made : BwrapCommandLine.MADE) {
        option("--keep", text(made.content()));
      }
      for (CopiedFile file : spec.files()) {
        option("--keep", copied(file.host(), spec.disk()));
      }
      return first;
    }

    /** RACE: whatever was checked before, it is looked at again now that it cannot change. */
    private Fd copied(Path host, ByteSize most) throws KernelException {
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

    /** Content short enough to lie in a pipe. */
    private Fd text(String content) throws KernelException {
      Fd.Pipe pipe = Fd.pipe(scope, scope);
      pipe.write().write(content);
      scope.release(pipe.write());
      return pipe.read();
    }
  }
}
