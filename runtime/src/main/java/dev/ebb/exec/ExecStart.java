package dev.ebb.exec;

import dev.ebb.backend.Capability;
import dev.ebb.box.ExecSite;
import dev.ebb.box.OperatorLane;
import dev.ebb.fault.Step;
import dev.ebb.init.LeafHandle;
import dev.ebb.init.StartRequest;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to start a command: makes its leaf and descriptors, and sends the request to init.
 */
final class ExecStart {
  /** How many processes an operator may start beyond the limit of others, without cgroups. */
  private static final int LANE_PROCESSES = 32;

  private final ExecSite site;
  private final ExecSpec spec;
  private boolean isPiped;
  private byte @Nullable [] input;

  ExecStart(ExecSite site, ExecSpec spec) {
    this.site = site;
    this.spec = spec;
  }

  /** Makes an attempt whose stdout goes through a pipe and is not stored. */
  ExecStart piped() {
    site.requireRunning();
    isPiped = true;
    return this;
  }

  /** Makes an attempt whose stdin is a memory file with these bytes, so no writer is needed. */
  ExecStart withInput(byte[] bytes) {
    input = bytes;
    return this;
  }

  Exec start() {
    site.requireRunning();
    if (spec.kind() instanceof ExecKind.Terminal) {
      site.require(Capability.TERMINAL);
    }
    try (var passing = new Scope()) {
      Scope scope = site.openScope();
      try {
        return spec.operator() ? startInLane(scope, passing) : startBesideOthers(scope, passing);
      } catch (KernelException | RuntimeException e) {
        site.release(scope);
        throw e;
      }
    } catch (KernelException | IllegalStateException e) {
      // RACE: a concurrent release of the box makes this fail in many ways, for one reason.
      site.requireRunning();
      boolean tooLong = e instanceof KernelException kernel && kernel.is(Errno.E2BIG);
      throw new SandboxException(
          tooLong ? ErrorCode.BAD_REQUEST : ErrorCode.SETUP_FAILED,
          "cannot start the command: " + e.getMessage(),
          e);
    }
  }

  private Exec startBesideOthers(Scope scope, Scope passing) throws KernelException {
    return site.lane().startBesideOthers(places -> start(scope, passing, places));
  }

  private Exec startInLane(Scope scope, Scope passing) throws KernelException {
    return site.lane()
        .startInLane(
            places -> {
              isPiped = false;
              Exec exec = start(scope, passing, places);
              awaitStarted(exec);
              return exec;
            });
  }

  /** The command starts in the current cgroup of init, so init must not leave it before. */
  private static void awaitStarted(Exec exec) {
    try {
      var _ = exec.awaitStart(Exec.ladderSlack);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** {@code passing} owns this process's copies of the descriptors for init. */
  private Exec start(Scope scope, Scope passing, OperatorLane.Places places)
      throws KernelException {
    var fds = new ArrayList<Fd>();
    Optional<RunnerSocket> runnerSocket = runnerSocket(scope, passing);
    runnerSocket.ifPresent(socket -> fds.add(socket.peer()));
    Optional<Stdin> stdin = stdin(scope, passing);
    stdin.ifPresent(pipe -> fds.add(pipe.reader()));
    if (input != null) {
      Step.OPEN_STDIN.reach();
      fds.add(Fd.memory(passing, "stdin", input));
    }
    ExecRecord record = newRecord(stdin.isPresent());
    var exec = new Exec(site, record, scope, stdin, runnerSocket);
    if (isPiped) {
      var output = new PipedOutput(scope, passing, site.poller());
      exec.output().usePipe(output);
      fds.add(output.writer());
    }
    try {
      Optional<Path> leaf = places.leaf(exec.number());
      LeafHandle handle = leaf.isPresent() ? LeafHandle.open(passing, leaf.get()) : LeafHandle.NONE;
      fds.addAll(0, handle.fds());
      fds.addAll(0, exec.output().firstLogs(passing));
      exec.begin(
          record, request(site, spec, handle.form(), exec.output().isBuffered()), fds, isPiped);
    } catch (KernelException | RuntimeException e) {
      exec.abandon();
      site.leaf(exec.number()).remove();
      throw e;
    }
    return exec;
  }

  private Optional<RunnerSocket> runnerSocket(Scope scope, Scope passing) throws KernelException {
    if (!(spec.kind() instanceof ExecKind.Dialogue)) {
      return Optional.empty();
    }
    Step.OPEN_STDIN.reach();
    return Optional.of(new RunnerSocket(scope, passing, site.poller(), site.discards()));
  }

  private Optional<Stdin> stdin(Scope scope, Scope passing) throws KernelException {
    if (!spec.takesInput() || spec.kind() instanceof ExecKind.Dialogue || input != null) {
      return Optional.empty();
    }
    Step.OPEN_STDIN.reach();
    return Optional.of(new Stdin(scope, passing, site.poller()));
  }

  private ExecRecord newRecord(boolean isFed) throws KernelException {
    int number = site.nextNumber();
    long oomKills = number == 1 ? 0 : site.oomKills();
    return ExecRecord.atStart(number, spec, oomKills, isFed);
  }

  // --- the request ---

  /**
   * Makes the request for a command that was started before: it has its leaf, and init gets no
   * descriptor.
   */
  static StartRequest rearmRequest(ExecSite site, ExecSpec spec, boolean isBuffered) {
    return request(
        site,
        spec,
        site.hasLeaves() ? LeafHandle.Form.DIRECTORY : LeafHandle.Form.NONE,
        isBuffered);
  }

  private static StartRequest request(
      ExecSite site, ExecSpec spec, LeafHandle.Form leaf, boolean isBuffered) {
    return new StartRequest(
        spec.command(),
        Environment.lines(
            spec.environment(), site.spec().packages().size(), spec.kind(), site.spec().network()),
        spec.workdir(),
        spec.timeout(),
        spec.grace(),
        spec.outputLimit(),
        spec.openFiles(),
        spec.fileSize(),
        spec.takesInput(),
        spec.keep(),
        leaf,
        isBuffered,
        spec.kind(),
        leaf == LeafHandle.Form.NONE ? share(site, spec) : StartRequest.Share.BY_CGROUP);
  }

  /**
   * Init checks memory periodically; rlimits keep a process from far exceeding the limit meanwhile.
   */
  private static StartRequest.Share share(ExecSite site, ExecSpec spec) {
    if (spec.operator()) {
      return new StartRequest.Share(0, 0, site.spec().limits().pids() + LANE_PROCESSES);
    }
    long memory = site.spec().limits().memory().bytes();
    long most = memory > Long.MAX_VALUE / 8 ? Long.MAX_VALUE : Math.max(4 * memory, 2L << 30);
    return new StartRequest.Share(memory, most, site.spec().limits().pids());
  }
}
