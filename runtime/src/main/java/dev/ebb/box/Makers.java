package dev.ebb.box;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.bubblewrap.Forkserver;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.kernel.KernelException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The makers of an engine's boxes: the zygote makes those that are wanted of it, the forkserver
 * those that it can make, bwrap all others.
 *
 * <p>A forkserver is started when it first pays. While there is none bwrap makes every box.
 * Thread-safe.
 */
public final class Makers {
  private final Bubblewrap bubblewrap;
  private final Policy policy;
  private final AtomicInteger asked = new AtomicInteger();
  private final CurrentForkserver forkserver = new CurrentForkserver(Optional.empty());
  private volatile @Nullable CurrentForkserver zygote;

  /** When the forkserver makes a box that it can make. */
  public enum Policy {
    NEVER,
    /** A program that makes one box and ends does not pay for a forkserver. */
    FROM_THE_SECOND_BOX,
    ALWAYS;

    /** Names another policy, for tests that compare. */
    private static final String OVERRIDE = "ebb.maker";

    /** This one, unless a test wants otherwise. */
    public Policy orOverride() {
      return switch (System.getProperty(OVERRIDE, "")) {
        case "bwrap" -> NEVER;
        case "forkserver" -> ALWAYS;
        default -> this;
      };
    }
  }

  public Makers(Bubblewrap bubblewrap, Policy policy) {
    this.bubblewrap = bubblewrap;
    this.policy = policy;
  }

  Bubblewrap bubblewrap() {
    return bubblewrap;
  }

  /** Why there is no forkserver, if one was wanted and is not there. */
  public Optional<String> refusal() {
    return forkserver.refusal();
  }

  /** From now on there is such a zygote, and no other, for those boxes that are wanted of one. */
  public void useZygote(ZygotePolicy wanted) throws KernelException {
    closeZygote();
    zygote = new CurrentForkserver(Optional.of(wanted));
  }

  private void closeZygote() throws KernelException {
    CurrentForkserver current = zygote;
    if (current != null) {
      current.close();
    }
  }

  /** Whether a zygote's box would be as apart from it, and from others, as any. */
  public static boolean canUseZygote(BoxHost host) {
    return host.hierarchies().mode() != CgroupMode.NONE && !host.uids().isShared();
  }

  /** The forkserver that shall make such a box; empty: bwrap shall. */
  Optional<Forkserver> forkserver(BoxHost host, SandboxSpec spec) throws InterruptedException {
    if (policy == Policy.NEVER || !Forkserver.canMake(spec)) {
      return Optional.empty();
    }
    boolean isWanted = asked.incrementAndGet() > 1 || policy == Policy.ALWAYS;
    return forkserver.next(host, isWanted);
  }

  /** Has the forkserver started that {@link #forkserver} would start for the first box. */
  public void prepare(BoxHost host) throws InterruptedException {
    if (policy == Policy.ALWAYS) {
      forkserver.prepare(host);
    }
  }

  /** The zygote that shall make such a box; empty: another maker shall. */
  Optional<Forkserver> zygote(BoxHost host, SandboxSpec spec) throws InterruptedException {
    CurrentForkserver current = zygote;
    return current == null || policy == Policy.NEVER || !Forkserver.canMake(spec)
        ? Optional.empty()
        : current.next(host, true);
  }

  /** It died over a box, or would not answer. */
  void lost(BoxHost host, Forkserver which, String reason) throws InterruptedException {
    forkserver.lost(host, which, reason);
    CurrentForkserver current = zygote;
    if (current != null) {
      current.lost(host, which, reason);
    }
  }

  /** Ends forkserver and zygote; no box is made any more. Boxes that they made live on. */
  public void close() throws KernelException {
    try {
      forkserver.close();
    } finally {
      closeZygote();
    }
  }
}
