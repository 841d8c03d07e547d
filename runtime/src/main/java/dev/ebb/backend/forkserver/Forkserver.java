package dev.ebb.backend.forkserver;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.Zygote;
import dev.ebb.backend.bubblewrap.BwrapCommandLine;
import dev.ebb.backend.bubblewrap.Refusal;
import dev.ebb.backend.bubblewrap.SpawnPlan;
import dev.ebb.cgroup.Placement;
import dev.ebb.fault.Step;
import dev.ebb.init.CloneOrder;
import dev.ebb.init.Discards;
import dev.ebb.init.ForkserverSocket;
import dev.ebb.init.InitChannel;
import dev.ebb.init.InitWire;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.process.ProcessRef;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;

/**
 * A resident process that makes boxes by cloning itself ({@code init/make/forkserver.c}). Bwrap has
 * made the parts that all boxes share, once.
 *
 * <p>A box it makes is a child of this process from the start and does not need the forkserver any
 * more, so the end of the forkserver ends no box. Thread-safe.
 */
final class Forkserver {
  /** Its name in place of a box id: on the ledger, in its command line, as its cgroup. */
  static final String NAME = "forkserver";

  /** How long cloning a box may take before bwrap makes it instead. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  /** How long a replaced file of the host may still be shown. */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);

  private final Poller poller;
  private final Discards discards;
  private final Optional<Userns> userns;
  private final ForkserverSocket socket;
  private final Pidfd process;
  private final ProcessRef ref;
  private final Fd log;
  private final Set<InitChannel> clonings = ConcurrentHashMap.newKeySet();
  private final OrderedLock state = new OrderedLock(LockOrder.FORKSERVER_STATE);
  private final Condition changed = state.newCondition();
  private final List<Object> shown;

  @GuardedBy("state")
  private boolean ready;

  @GuardedBy("state")
  private boolean lost;

  @GuardedBy("state")
  private Runnable lossTask = () -> {};

  @GuardedBy("state")
  private boolean outdated;

  @GuardedBy("state")
  private Deadline nextLook = Deadline.in(LOOK_EVERY);

  private Forkserver(
      BackendHost host,
      Optional<Userns> userns,
      ForkserverSocket socket,
      Pidfd process,
      ProcessRef ref,
      Fd log,
      List<Object> shown) {
    poller = host.poller();
    discards = host.discards();
    this.userns = userns;
    this.socket = socket;
    this.process = process;
    this.ref = ref;
    this.log = log;
    this.shown = shown;
  }

  /**
   * The user namespace of a forkserver that lacks capabilities on the host, by its host uids.
   *
   * @param root the forkserver's own uid, one of the block of boxes
   * @param first of the block of uids for boxes
   * @param count of the block; 0: boxes have the forkserver's uid
   */
  record Userns(int root, int first, int count) {
    /** The uid of a box inside the namespace. */
    int inside(int host) {
      if (count == 0) {
        return 0;
      }
      return host < root ? host - first + 1 : host - first;
    }

    /** Makes the forkserver the owner of {@code file}, if its uid is not that of the engine. */
    void own(Path file) throws KernelException {
      if (count > 0) {
        Filesystem.chown(file, root, root);
      }
    }
  }

  /** Receives the process that was started. */
  @FunctionalInterface
  interface Spawned {
    void accept(Pidfd process) throws KernelException;
  }

  /**
   * Starts a forkserver and passes it to {@code spawned}; call {@link #awaitReady} next.
   *
   * @param bwrap the program
   * @param userns empty: the forkserver runs in the engine's user namespace
   * @param cgroup its own, of version 2; empty where there are none
   * @param zygote the interpreter that it becomes
   */
  static Forkserver start(
      Scope scope,
      BackendHost host,
      Path bwrap,
      Optional<Userns> userns,
      Optional<Path> cgroup,
      Optional<Zygote> zygote,
      Spawned spawned)
      throws KernelException {
    try (var passing = new Scope()) {
      ForkserverSocket.Pair control = ForkserverSocket.pair(scope, passing);
      Fd log = Fd.memory(scope, "ebb-forkserver-log");
      var plan = new SpawnPlan(passing, log, NAME);
      plan.option("--control", control.peer());
      plan.option("--self", host.binary().fd());
      if (cgroup.isPresent()) {
        plan.option("--leaf", SpawnPlan.directory(passing, cgroup.get()));
      }
      if (zygote.isPresent()) {
        Fd words = Fd.memory(passing, "ebb-zygote");
        words.write(zygote.get().words());
        plan.option("--zygote", words);
      }
      if (userns.isPresent()) {
        plan.option("--root", userns.get().root());
        plan.option("--first", userns.get().first());
        plan.option("--count", userns.get().count());
      }
      int firstFile = plan.made();
      plan.add("--", bwrap.toString());
      plan.add(BwrapCommandLine.template(firstFile));
      List<Object> shown = BwrapCommandLine.identities();
      Step.SPAWN_FORKSERVER.reach();
      Pidfd process = Spawn.spawn(scope, host.binary().path(), plan.words(), plan.fds());
      spawned.accept(process);
      // Only this process reaps it, so it exists, dead or alive.
      ProcessRef ref = ProcessRef.of(process.pid()).orElseThrow();
      var forkserver = new Forkserver(host, userns, control.ours(), process, ref, log, shown);
      forkserver.listen(scope);
      return forkserver;
    }
  }

  Pidfd process() {
    return process;
  }

  /**
   * Waits until it can make boxes.
   *
   * @throws Launch.SetupException with its message or that of bwrap, when it failed
   */
  void awaitReady(Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    Step.AWAIT_FORKSERVER.reach();
    if (!awaitWord(deadline)) {
      // ORDER: messages already sent are read before the deadline decides.
      var _ = poller.catchUp(Deadline.in(PATIENCE));
    }
    state.lock();
    try {
      if (!ready) {
        String how = lost ? "cannot be started" : "was not ready in time";
        throw new Launch.SetupException(
            "the forkserver " + how + Refusal.explain(SpawnPlan.message(log)));
      }
    } finally {
      state.unlock();
    }
  }

  private boolean awaitWord(Deadline deadline) throws InterruptedException {
    state.lock();
    try {
      while (!ready && !lost && !deadline.isOver()) {
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return ready || lost;
    } finally {
      state.unlock();
    }
  }

  private void listen(Scope scope) throws KernelException {
    var watch = new Poller.Watch[1];
    // RACE: the handler may run before its watch is known.
    state.lock();
    try {
      watch[0] = poller.watch(scope, socket.fd(), Poller.Interest.READ, () -> onReady(watch));
    } finally {
      state.unlock();
    }
  }

  /** Its only message says that it is ready; anything else means its end. */
  private void onReady(Poller.Watch[] watch) {
    try {
      ForkserverSocket.Word word = socket.receive();
      if (word == ForkserverSocket.Word.END) {
        loseAndReport();
        return;
      }
      state.lock();
      try {
        ready |= word == ForkserverSocket.Word.READY;
        changed.signalAll();
        watch[0].rearm();
      } finally {
        state.unlock();
      }
    } catch (KernelException | RuntimeException e) {
      loseAndReport();
    }
  }

  /** Called when it has ended by itself. */
  private void loseAndReport() {
    Runnable task;
    state.lock();
    try {
      task = lost ? () -> {} : lossTask;
    } finally {
      state.unlock();
    }
    lose();
    task.run();
  }

  /** Gives it up: it announces no further box. */
  private void lose() {
    state.lock();
    try {
      lost = true;
      changed.signalAll();
    } finally {
      state.unlock();
    }
    clonings.forEach(InitChannel::forsakeUnlessAnnounced);
  }

  /**
   * Runs {@code task} when it ends by itself, on the poller's thread, which must not wait. A caller
   * that loses it while making a box gets an exception.
   */
  void whenLost(Runnable task) {
    boolean isLate;
    state.lock();
    try {
      isLate = lost;
      lossTask = task;
    } finally {
      state.unlock();
    }
    if (isLate) {
      task.run();
    }
  }

  /**
   * Returns whether its boxes would show replaced files of the host, so that a new process should
   * take over.
   */
  boolean isOutdated() {
    state.lock();
    try {
      if (!outdated && nextLook.isOver()) {
        outdated = !BwrapCommandLine.identities().equals(shown);
        nextLook = Deadline.in(LOOK_EVERY);
      }
      return outdated;
    } finally {
      state.unlock();
    }
  }

  /** Returns whether it can make no box any more. */
  boolean isLost() {
    state.lock();
    try {
      return lost;
    } finally {
      state.unlock();
    }
  }

  /** Orders a box, passes it to {@code begun}, and returns at once. */
  void launch(LaunchOrder order, Cloning.Loss loss, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException {
    try (var passing = new Scope()) {
      Step.OPEN_SOCKET.reach();
      InitWire.Pair control = InitWire.pair(order.scope(), passing, discards::discard);
      var fds = new ArrayList<Fd>(List.of(control.peer()));
      Placement placement = order.placement();
      if (placement.init().isPresent()) {
        fds.add(cradle(passing, placement.init().get()));
      }
      for (Path tasks : placement.tasks()) {
        fds.add(Fd.open(passing, tasks, Fd.Flag.WRITE));
      }
      var channel = InitChannel.open(order.scope(), poller, control.ours());
      begun.accept(new Cloning(this, channel, loss));
      clonings.add(channel);
      Step.SEND_ORDER.reach();
      send(cloneOrder(order), fds);
    }
  }

  private CloneOrder cloneOrder(LaunchOrder order) {
    return new CloneOrder(
        order.box(),
        userns.map(each -> each.inside(order.uid())).orElse(order.uid()),
        order.spec().hidesCgroups(),
        order.spec().disk(),
        order.spec().temporary(),
        order.placement().init().isPresent(),
        order.placement().tasks().size());
  }

  /** KERNEL: a clone into a cgroup needs write permission on its cgroup.procs, too. */
  private Fd cradle(Scope scope, Path cgroup) throws KernelException {
    if (userns.isPresent()) {
      userns.get().own(cgroup.resolve("cgroup.procs"));
    }
    return SpawnPlan.directory(scope, cgroup);
  }

  private void send(CloneOrder order, List<Fd> fds)
      throws KernelException, Launch.MakerLostException {
    boolean isTaken;
    try {
      isTaken = socket.send(order, fds, PATIENCE);
    } catch (KernelException e) {
      // RACE: the thread that lost it first has also closed its socket.
      if (e.is(Errno.EPIPE) || e.is(Errno.ECONNRESET) || e.is(Errno.EBADF)) {
        throw dismiss("is gone");
      }
      throw e;
    }
    if (!isTaken) {
      throw dismiss("takes no order");
    }
  }

  /** Kills it and gives it up; {@code why} names its failure. */
  Launch.MakerLostException dismiss(String why) throws KernelException {
    String message = "";
    try {
      process.signal(Signal.KILL);
      message = SpawnPlan.message(log);
    } catch (KernelException e) {
      // RACE: the thread that lost it first has ended it, logged its messages, and closed it.
      if (!e.is(Errno.EBADF)) {
        throw e;
      }
    }
    lose();
    return new Launch.MakerLostException("the forkserver " + why + message);
  }

  /** Returns whether it was lost, or is dead and this was not reported yet. */
  boolean isGone() {
    return isLost() || !ref.isAlive();
  }

  /** Called when a box it was to make is up, or never will be. */
  void finish(InitChannel channel) {
    clonings.remove(channel);
  }
}
