package dev.ebb.box;

import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.backend.SandboxSpec;
import dev.ebb.cgroup.CgroupLimits;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes one box, from its first ledger line until it runs or everything made for it is released.
 */
public final class Making {
  private final BoxParts parts;
  private final BoxHost host;
  private final BoxSpec spec;
  private final Enclosure enclosure;
  private final BoxHoldings holdings;
  private final InitProcess init;
  private @Nullable Holding beginning;
  private @Nullable Holding outsideLine;

  private Making(BoxParts parts, BoxSpec spec) {
    this.parts = parts;
    this.spec = spec;
    host = parts.host();
    enclosure = parts.enclosure();
    holdings = parts.holdings();
    init = parts.init();
  }

  /**
   * Makes a box, or unwinds everything made so far and throws the reason.
   *
   * @param wantsCopy of a prepared process, from a backend that has one
   * @param listener called for each change of state, in order; must not block
   * @param unfinished takes a box that could be neither made nor unwound, to retry its release
   */
  public static Box make(
      BoxHost host,
      BoxId id,
      BoxSpec spec,
      boolean wantsCopy,
      Consumer<BoxState> listener,
      Consumer<Box> unfinished) {
    BoxParts parts;
    try {
      parts = BoxParts.of(host, id, host.enclosure(id), new BoxLifecycle(listener));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
    var box = new Box(parts, spec);
    try {
      new Making(parts, spec).setUp(wantsCopy);
      return box;
    } catch (Throwable failure) {
      throw unwind(box, failure, unfinished);
    }
  }

  /** Refuses a spec that names an unknown backend. */
  public static void requireBackend(BoxHost host, BoxSpec spec) {
    spec.backend().ifPresent(name -> BoxBackend.named(host.backends(), name));
  }

  private void setUp(boolean wantsCopy)
      throws KernelException, Launch.SetupException, InterruptedException {
    Deadline deadline = Deadline.in(host.createDeadline());
    // KERNEL: with nsdelegate init could not clone into a leaf, which lies outside its namespace.
    var sandbox = SandboxSpec.of(spec, !host.hierarchies().namespacesBound());
    List<SandboxBackend> candidates = candidates(sandbox, wantsCopy);
    hold();
    enclosure.create(CgroupLimits.of(spec.limits()), holdings.uid());
    Step.WATCH_OOM.reach();
    parts.oomWatch().open(parts.scope(), host.poller());
    if (enclosure.paths().isEmpty()) {
      // If this runtime dies now, the next one finds the process only by this line.
      beginning = holdings.hold(Kind.PROCESS, Session.toBegin().toString());
    }
    launch(sandbox, candidates, deadline);
    settle();
    strikeOutside();
    parts.network().open(spec.network().policy());
    Step.CALL_RUNNING.reach();
    parts.lifecycle().become(BoxState.RUNNING);
    init.watch();
  }

  private void hold() throws KernelException {
    holdings.lendUid();
    var entries = new ArrayList<Ledger.Entry>();
    if (!holdings.isUidShared()) {
      entries.add(new Ledger.Entry(Kind.USER, Integer.toString(holdings.uid())));
    }
    for (Path path : enclosure.paths()) {
      entries.add(new Ledger.Entry(Kind.CGROUP, path.toString()));
    }
    Step.HOLD_BOX.reach();
    parts.directory().planned(holdings.hold(parts.directory().entry(), entries));
  }

  // --- its backend ---

  private List<SandboxBackend> candidates(SandboxSpec sandbox, boolean wantsCopy) {
    if (spec.backend().isEmpty()) {
      return host.backends().candidates(sandbox, wantsCopy);
    }
    SandboxBackend named = BoxBackend.named(host.backends(), spec.backend().get());
    named
        .capabilities()
        .lackedBy(sandbox)
        .ifPresent(
            lacked -> {
              throw BoxBackend.lacks(parts.id(), named.name(), lacked);
            });
    return List.of(named);
  }

  /** Tries each backend once, until one makes the box. */
  private void launch(SandboxSpec sandbox, List<SandboxBackend> candidates, Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    for (SandboxBackend backend : candidates) {
      if (isMadeBy(backend, sandbox, deadline)) {
        parts.backend().madeBy(backend);
        return;
      }
    }
    throw new Launch.SetupException("no box can be made now by " + reasons(candidates));
  }

  private static String reasons(List<SandboxBackend> candidates) {
    return candidates.stream()
        .map(each -> each.name() + each.lack().map(lack -> " (" + lack.finding() + ")").orElse(""))
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns false if the backend cannot make a box now, or was lost while making it and left
   * nothing.
   */
  private boolean isMadeBy(SandboxBackend backend, SandboxSpec sandbox, Deadline deadline)
      throws KernelException, Launch.SetupException, InterruptedException {
    Scope attempt = Scope.in(parts.scope());
    var order =
        new LaunchOrder(
            attempt,
            parts.id().value(),
            sandbox,
            enclosure.placement(),
            holdings.uid(),
            spec.backend().isPresent());
    try {
      if (!backend.launch(order, this::launched)) {
        parts.scope().release(attempt);
        return false;
      }
      init.launch().await(deadline);
      return true;
    } catch (Launch.MakerLostException e) {
      endAttempt(attempt);
      return false;
    }
  }

  private void endAttempt(Scope attempt) throws KernelException, InterruptedException {
    var tally = new ReleaseTally();
    new ProcessEnd(parts, tally).run();
    if (!tally.isClean()) {
      throw new KernelException("end what was begun of box " + parts.id(), Errno.EBUSY);
    }
    enclosure.renew();
    parts.scope().release(attempt);
    init.launchFailed();
  }

  // --- the ledger ---

  /** Records the process, so that the next runtime can end it if this one dies now. */
  private void launched(Launch begun) throws KernelException {
    init.launched(begun);
    if (begun.outside().isEmpty()) {
      enclosure.begun(Session.toBegin());
      return;
    }
    var ref = ProcessRef.of(begun.outside().get().pid());
    if (ref.isPresent()) {
      Step.HOLD_OUTSIDE.reach();
      outsideLine = holdings.hold(Kind.PROCESS, ref.get().toString());
      enclosure.begun(ref.get());
    }
  }

  private void settle() throws KernelException {
    var toFind = enclosure.settled(init.launch().sandbox().init().orElseThrow());
    if (toFind.isPresent()) {
      holdings.hold(Kind.PROCESS, toFind.get().toString());
    }
  }

  /** Strikes the line of the process outside, which was reaped. */
  private void strikeOutside() throws KernelException {
    Step.STRIKE_OUTSIDE.reach();
    List<Holding> gone = Stream.of(beginning, outsideLine).filter(Objects::nonNull).toList();
    holdings.strike(gone);
  }

  // --- what failed ---

  private static SandboxException unwind(Box box, Throwable failure, Consumer<Box> unfinished) {
    Certificate left = box.release();
    if (!left.isClean()) {
      unfinished.accept(box);
    }
    String cleanup = left.isClean() ? "" : "; its clean-up failed too: " + left.stuck();
    return switch (failure) {
      case SandboxException e when left.isClean() -> e;
      case Launch.SetupException e when e.isForWantOfProcesses() ->
          SandboxException.later(
              ErrorCode.PRESSURE, e.getMessage() + cleanup, Duration.ofSeconds(1), Map.of());
      case Launch.SetupException e ->
          new SandboxException(ErrorCode.SETUP_FAILED, e.getMessage() + cleanup, e);
      case InterruptedException e -> {
        Thread.currentThread().interrupt();
        yield new SandboxException(
            ErrorCode.INTERRUPTED, "interrupted while making a box" + cleanup, e);
      }
      case KernelException e ->
          new SandboxException(
              ErrorCode.SETUP_FAILED, "cannot make a box: " + e.getMessage() + cleanup, e);
      default ->
          new SandboxException(
              ErrorCode.INTERNAL, SandboxException.describe(failure) + cleanup, failure);
    };
  }
}
