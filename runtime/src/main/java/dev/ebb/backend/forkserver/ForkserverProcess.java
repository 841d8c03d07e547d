package dev.ebb.backend.forkserver;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Launch;
import dev.ebb.backend.UidLoan;
import dev.ebb.backend.Zygote;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.Privileges;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A forkserver with its resources on the host, from its first ledger line to the last. */
final class ForkserverProcess {
  private static final Duration START_BOUND = Duration.ofSeconds(20);

  /** The time for a start, including imports. */
  private static final Duration IMPORT_BOUND = Duration.ofSeconds(60);

  private static final Duration DEATH_BOUND = Duration.ofSeconds(10);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(1);

  private final BackendHost host;
  private final Path bwrap;
  private final Optional<Zygote> zygote;
  private final String name;
  private final Scope scope;
  private final Optional<Cgroup> cgroup;
  private final List<Holding> holdings = new ArrayList<>();
  private int root = -1;
  private @Nullable Pidfd process;
  private @Nullable Session session;
  private boolean isReady;

  ForkserverProcess(BackendHost host, Path bwrap, String name, Optional<Zygote> zygote)
      throws KernelException {
    this.host = host;
    this.bwrap = bwrap;
    this.name = name;
    this.zygote = zygote;
    scope = Scope.in(host.scope());
    cgroup = host.hierarchies().unified().map(top -> new Cgroup(subtree(top).resolve(name)));
  }

  private Path subtree(Path top) {
    return top.resolve(host.instance().id());
  }

  /** Starts it. The caller must end it even if the start fails. */
  Forkserver start() throws KernelException, Launch.SetupException, InterruptedException {
    Optional<Forkserver.Userns> userns = userns();
    var entries = new ArrayList<Ledger.Entry>();
    if (userns.isPresent()) {
      root = userns.get().root();
      if (!host.uids().isShared()) {
        entries.add(new Ledger.Entry(Kind.USER, Integer.toString(root)));
      }
    }
    cgroup.ifPresent(each -> entries.add(new Ledger.Entry(Kind.CGROUP, each.path().toString())));
    Step.HOLD_FORKSERVER.reach();
    holdings.addAll(host.instance().ledger().hold(name, entries));
    if (cgroup.isPresent()) {
      Step.MAKE_FORKSERVER_CGROUP.reach();
      makeCgroup(cgroup.get(), userns);
    }
    Forkserver forkserver =
        Forkserver.start(
            scope, host, bwrap, userns, cgroup.map(Cgroup::path), zygote, this::spawned);
    forkserver.awaitReady(Deadline.in(zygote.isPresent() ? IMPORT_BOUND : START_BOUND));
    isReady = true;
    return forkserver;
  }

  /** Only if needed: the kernel charges the use of all boxes to the owner of a userns. */
  private Optional<Forkserver.Userns> userns() throws KernelException, Launch.SetupException {
    UidLoan uids = host.uids();
    if (uids.isShared()) {
      return Optional.of(new Forkserver.Userns(uids.first(), uids.first(), 0));
    }
    if (Privileges.ofThisProcess().canMakeNamespaces()) {
      return Optional.empty();
    }
    int lent =
        uids.lendLast()
            .orElseThrow(
                () ->
                    new Launch.SetupException(
                        "all " + uids.count() + " host uids of this runtime are in use"));
    return Optional.of(new Forkserver.Userns(lent, uids.first(), uids.count()));
  }

  /** KERNEL: a clone into another cgroup needs write permission on the nearest common ancestor. */
  private static void makeCgroup(Cgroup cgroup, Optional<Forkserver.Userns> userns)
      throws KernelException {
    Cgroup.create(cgroup.path());
    if (userns.isPresent()) {
      userns.get().own(cgroup.path().resolveSibling("cgroup.procs"));
    }
  }

  /** Records the process, so that the next runtime can end it if this one dies now. */
  private void spawned(Pidfd begun) throws KernelException {
    process = begun;
    ProcessRef ref = ProcessRef.of(begun.pid()).orElseThrow();
    session = new Session(ref, Forkserver.NAME);
    Step.HOLD_FORKSERVER_PROCESS.reach();
    holdings.add(host.instance().ledger().hold(name, Kind.PROCESS, ref.toString()));
  }

  /** Ends it in any state, and proves it; boxes it made live on. A failed call can be repeated. */
  void end() throws KernelException, InterruptedException {
    Deadline deadline = Deadline.in(DEATH_BOUND);
    Step.END_FORKSERVER.reach();
    if (process != null) {
      process.signal(Signal.KILL);
      awaitDeath(process, deadline);
      process = null;
    }
    endOthers(deadline);
    host.scope().release(scope);
    if (cgroup.isPresent()) {
      Step.REMOVE_FORKSERVER_CGROUP.reach();
      host.removal().remove(cgroup.get());
    }
    Step.STRIKE_FORKSERVER.reach();
    host.instance().ledger().strike(holdings);
    if (root >= 0) {
      host.uids().giveBack(root);
      root = -1;
    }
  }

  /** Ends the remains of a forkserver that was killed during its start: its bwrap and children. */
  private void endOthers(Deadline deadline) throws KernelException, InterruptedException {
    if (cgroup.isPresent() && cgroup.get().exists()) {
      Path path = cgroup.get().path();
      cgroup.get().kill();
      if (!host.emptyWait().await(cgroup.get(), deadline)) {
        throw new KernelException("empty " + path, Errno.EBUSY);
      }
      String place = "/" + host.instance().id() + "/" + name;
      host.reaper()
          .reap(pid -> ProcFs.cgroup(pid).filter(each -> each.endsWith(place)).isPresent());
    }
    // RACE: after it was ready, a process that still has its session is a box that was just cloned.
    Session begun = session;
    if (begun == null || isReady) {
      return;
    }
    if (!deadline.until(LOOK_AGAIN, () -> isKilled(begun))) {
      throw new KernelException("end the forkserver " + begun.leader(), Errno.EBUSY);
    }
    // RACE: an init that no box owned yet may be among them; a waiting caller handles its absence.
    host.reaper().reap(begun::holds);
  }

  private static boolean isKilled(Session session) throws KernelException {
    session.kill();
    return session.members().isEmpty();
  }

  private void awaitDeath(Pidfd dying, Deadline deadline)
      throws KernelException, InterruptedException {
    try (var brief = new Scope()) {
      var dead = new Readiness(brief, host.poller(), dying.fd(), Poller.Interest.READ);
      if (!dead.awaitSurely(deadline)) {
        throw new KernelException("end the forkserver " + dying.pid(), Errno.EBUSY);
      }
      dying.reap();
    } catch (KernelException e) {
      // Another thread reaped it; it is gone, which is enough.
      if (!e.is(Errno.ECHILD)) {
        throw e;
      }
    }
  }
}
