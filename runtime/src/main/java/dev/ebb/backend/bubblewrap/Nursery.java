package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.cgroup.Placement;
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
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.process.ProcessRef;
import dev.ebb.step.Step;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;

/**
 * A process that stays, and makes boxes by cloning itself ({@code init/nursery.c}). What all of
 * them have in common bwrap has made for it, once.
 *
 * <p>A box it makes is a child of this process from its birth, and needs the nursery no more. Its
 * end ends no box. Thread-safe.
 */
public final class Nursery {
  /** Stands for it where a box has its id: on the ledger, in its command line, as its cgroup. */
  public static final String NAME = "nursery";

  /** How long the birth of a box may take before another maker is tried. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** How long a file of the host that was replaced may still be shown. */
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);

  private static final Duration SEND_RETRY = Duration.ofMillis(1);

  private final Poller poller;
  private final Discards discards;
  private final Optional<Estate> estate;
  private final UnixSocket socket;
  private final Pidfd process;
  private final ProcessRef ref;
  private final Fd log;
  private final Set<InitChannel> births = ConcurrentHashMap.newKeySet();
  private final OrderedLock sending = new OrderedLock(LockOrder.FORKSERVER_SEND);
  private final OrderedLock state = new OrderedLock(LockOrder.FORKSERVER_STATE);
  private final Condition changed = state.newCondition();
  private final List<Object> shown;
  private boolean ready;
  private boolean lost;
  private Runnable lossTask = () -> {};
  private boolean outdated;
  private Deadline nextLook = Deadline.in(LOOK_EVERY);

  private Nursery(
      Poller poller,
      Discards discards,
      Optional<Estate> estate,
      UnixSocket socket,
      Pidfd process,
      ProcessRef ref,
      Fd log,
      List<Object> shown) {
    this.poller = poller;
    this.discards = discards;
    this.estate = estate;
    this.socket = socket;
    this.process = process;
    this.ref = ref;
    this.log = log;
    this.shown = shown;
  }

  /**
   * A user namespace for who is not root with all his rights, and its host uids: {@code root} is
   * the nursery's own, {@code count} from {@code first} on, among which it is, are those of boxes;
   * 0: boxes have its own.
   */
  public record Estate(int root, int first, int count) {
    /** The uid of a box there. */
    int inside(int host) {
      if (count == 0) {
        return 0;
      }
      return host < root ? host - first + 1 : host - first;
    }

    /** Lets the nursery write to a file of ours, if it has another uid than we. */
    public void own(Path file) throws KernelException {
      if (count > 0) {
        Filesystem.chown(file, root, root);
      }
    }
  }

  /** Takes over the process that was started. */
  @FunctionalInterface
  public interface Spawned {
    void accept(Pidfd process) throws KernelException;
  }

  /** Whether it has what such a box is made of. */
  public static boolean canMake(SandboxSpec spec) {
    return spec.network().isOwn()
        && spec.mounts().isEmpty()
        && spec.packages().isEmpty()
        && spec.files().isEmpty();
  }

  /**
   * Starts one, and tells {@code spawned} of it; {@link #awaitReady} is to follow.
   *
   * @param estate empty: it has our rights
   * @param cgroup of version 2, its own; empty where there are none
   * @param zygote what it is to become
   */
  public static Nursery start(
      Scope scope,
      Poller poller,
      InitBinary binary,
      Path bwrap,
      Discards discards,
      Optional<Estate> estate,
      Optional<Path> cgroup,
      Optional<Zygote> zygote,
      Spawned spawned)
      throws KernelException {
    try (var passing = new Scope()) {
      UnixSocket.Pair control = UnixSocket.pair(scope, passing);
      Fd log = Fd.memory(scope, "ebb-nursery-log");
      var plan = new SpawnPlan(passing, log, NAME);
      plan.option("--control", control.peer());
      plan.option("--self", binary.fd());
      if (cgroup.isPresent()) {
        plan.option("--leaf", SpawnPlan.directory(passing, cgroup.get()));
      }
      if (zygote.isPresent()) {
        Fd words = Fd.memory(passing, "ebb-zygote");
        words.write(zygote.get().words());
        plan.option("--zygote", words);
      }
      if (estate.isPresent()) {
        plan.option("--root", estate.get().root());
        plan.option("--first", estate.get().first());
        plan.option("--count", estate.get().count());
      }
      int firstFile = plan.made();
      plan.say("--", bwrap.toString());
      plan.say(BwrapCommandLine.template(firstFile));
      List<Object> shown = BwrapCommandLine.identities();
      Step.SPAWN_NURSERY.reach();
      Pidfd process = Spawn.spawn(scope, binary.path(), plan.words(), plan.fds());
      spawned.accept(process);
      // Ours to reap, so it is there, dead or alive.
      ProcessRef ref = ProcessRef.of(process.pid()).orElseThrow();
      var nursery = new Nursery(poller, discards, estate, control.ours(), process, ref, log, shown);
      nursery.listen(scope);
      return nursery;
    }
  }

  public Pidfd process() {
    return process;
  }

  /**
   * Waits until it can make boxes.
   *
   * @throws Launch.SetupException with what it or bwrap said, when it never will
   */
  public void awaitReady(Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    Step.AWAIT_NURSERY.reach();
    if (!awaitWord(deadline)) {
      // ORDER: what it has said is heard before the deadline decides.
      var _ = poller.catchUp(Deadline.in(PATIENCE));
    }
    state.lock();
    try {
      if (!ready) {
        String how = lost ? "cannot be started" : "was not ready in time";
        throw new Launch.SetupException(
            "the nursery " + how + Refusal.explain(SpawnPlan.said(log)));
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
      watch[0] = poller.watch(scope, socket.fd(), Poller.Interest.READ, () -> hear(watch));
    } finally {
      state.unlock();
    }
  }

  /** It says one thing, that it is ready; all else is its end. */
  private void hear(Poller.Watch[] watch) {
    try {
      byte[] word = new byte[Protocol.HEADER_SIZE];
      int bytes = socket.receiveBytes(word);
      boolean isReady =
          bytes == word.length
              && ByteBuffer.wrap(word).order(Protocol.buffer(0).order()).getShort(4)
                  == Protocol.MESSAGE_READY;
      if (!isReady && bytes >= 0) {
        loseAndTell();
        return;
      }
      state.lock();
      try {
        ready |= isReady;
        changed.signalAll();
        watch[0].rearm();
      } finally {
        state.unlock();
      }
    } catch (KernelException | RuntimeException e) {
      loseAndTell();
    }
  }

  /** It has ended by itself. */
  private void loseAndTell() {
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

  /** Those whom it has not announced never will be. */
  private void lose() {
    state.lock();
    try {
      lost = true;
      changed.signalAll();
    } finally {
      state.unlock();
    }
    births.forEach(InitChannel::forsakeUnlessAnnounced);
  }

  /**
   * Runs {@code task} when it ends by itself, on the poller's thread, which must not wait. A caller
   * that loses it over a box is told by an exception.
   */
  public void whenLost(Runnable task) {
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

  /** Its boxes would show what is no longer on the host: another should take over. */
  public boolean isOutdated() {
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

  /** It can make no box any more. */
  public boolean isLost() {
    state.lock();
    try {
      return lost;
    } finally {
      state.unlock();
    }
  }

  /** Orders a box, tells {@code begun} of it, and returns at once. */
  public void launch(
      Scope scope, String box, SandboxSpec spec, Placement placement, int uid, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException {
    try (var passing = new Scope()) {
      byte[] nonce = Self.randomBytes(Protocol.NONCE_SIZE);
      Step.OPEN_SOCKET.reach();
      InitSocket.Pair control = InitSocket.pair(scope, passing, discards::discard);
      var fds = new ArrayList<Fd>(List.of(control.peer()));
      if (placement.init().isPresent()) {
        fds.add(cradle(passing, placement.init().get()));
      }
      for (Path tasks : placement.tasks()) {
        fds.add(Fd.open(passing, tasks, Fd.Flag.WRITE));
      }
      byte[] order =
          Protocol.order(
              box,
              spec,
              estate.map(each -> each.inside(uid)).orElse(uid),
              placement.init().isPresent(),
              fds.size(),
              placement.tasks().size());
      var birth = new Birth(InitChannel.open(scope, poller, control.ours(), nonce));
      begun.accept(birth);
      births.add(birth.channel);
      Step.SEND_ORDER.reach();
      send(order, fds);
    }
  }

  /** KERNEL: a clone into a cgroup needs write permission on its cgroup.procs, too. */
  private Fd cradle(Scope scope, Path cgroup) throws KernelException {
    if (estate.isPresent()) {
      estate.get().own(cgroup.resolve("cgroup.procs"));
    }
    return SpawnPlan.directory(scope, cgroup);
  }

  /** KERNEL: an order is less than a page, so it is sent whole or not at all. */
  private void send(byte[] order, List<Fd> fds) throws KernelException, Launch.MakerLostException {
    sending.lock();
    try {
      Deadline deadline = Deadline.in(PATIENCE);
      while (socket.send(order, 0, order.length, fds) < 0) {
        if (!deadline.pause(SEND_RETRY)) {
          throw dismiss("takes no order");
        }
      }
    } catch (KernelException e) {
      // RACE: who lost it before us has let go of its socket, too.
      if (e.is(Errno.EPIPE) || e.is(Errno.ECONNRESET) || e.is(Errno.EBADF)) {
        throw dismiss("is gone");
      }
      throw e;
    } finally {
      sending.unlock();
    }
  }

  private Launch.MakerLostException dismiss(String why) throws KernelException {
    String said = "";
    try {
      process.signal(Signal.KILL);
      said = SpawnPlan.said(log);
    } catch (KernelException e) {
      // RACE: who lost it before us has ended it, told what it said, and let go of it.
      if (!e.is(Errno.EBADF)) {
        throw e;
      }
    }
    lose();
    return new Launch.MakerLostException("the nursery " + why + said);
  }

  private final class Birth implements Launch {
    private final InitChannel channel;
    private volatile boolean up;

    private Birth(InitChannel channel) {
      this.channel = channel;
    }

    @Override
    public InitChannel channel() {
      return channel;
    }

    @Override
    public Optional<Pidfd> outside() {
      return Optional.empty();
    }

    @Override
    public void await(Deadline deadline)
        throws KernelException, SetupException, MakerLostException, InterruptedException {
      try {
        Step.AWAIT_BIRTH.reach();
        up = channel.awaitHello(deadline.sooner(PATIENCE)).isPresent();
        if (!up) {
          throw refusal();
        }
      } finally {
        births.remove(channel);
      }
    }

    /** RACE: its end is heard of on the box's socket as well, and perhaps there first. */
    private SetupException refusal() throws KernelException, MakerLostException {
      if (channel.unmade().isPresent()) {
        String why = channel.unmade().get();
        // A box has none yet, so the limit that refused its first is the host's.
        return new SetupException(
            "the box could not be made" + Refusal.explain(": " + why), why.endsWith("EAGAIN"));
      }
      if (isLost() || !ref.isAlive()) {
        throw dismiss("is gone");
      }
      if (channel.init().isEmpty()) {
        throw dismiss("does not answer");
      }
      return new SetupException("the box's init did not say hello");
    }

    /**
     * RACE: the order may still be on its way. Whoever is born of it sees that nobody speaks to it,
     * and ends; when all have let go of its end of the socket, nobody is or will be born.
     */
    @Override
    public boolean callOff(Deadline deadline) throws KernelException, InterruptedException {
      channel.sayNoMore();
      if (channel.awaitClosed(deadline.sooner(PATIENCE))) {
        return true;
      }
      var _ = dismiss("does not answer");
      return channel.awaitClosed(deadline);
    }

    @Override
    public boolean isUp() {
      return up;
    }
  }
}
