package dev.ebb.box;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.bubblewrap.Nursery;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.kernel.KernelException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Who makes the boxes of an engine: the zygote those that are wanted of it, the nursery what it
 * can, bwrap all else.
 *
 * <p>A nursery is started when it first pays. While there is none bwrap makes every box.
 * Thread-safe.
 */
public final class Makers {
  private final Bubblewrap bubblewrap;
  private final Policy policy;
  private final AtomicInteger asked = new AtomicInteger();
  private final NurseryKeeper nursery = new NurseryKeeper(Optional.empty());
  private volatile @Nullable NurseryKeeper zygote;

  /** When the nursery makes a box that it can make. */
  public enum Policy {
    NEVER,
    /** Who makes one box and ends need not pay for it. */
    FROM_THE_SECOND_BOX,
    ALWAYS;

    /** Names another policy, for tests that compare. */
    private static final String OVERRIDE = "ebb.maker";

    /** This one, unless a test wants otherwise. */
    public Policy orOverride() {
      return switch (System.getProperty(OVERRIDE, "")) {
        case "bwrap" -> NEVER;
        case "nursery" -> ALWAYS;
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

  /** Why there is no nursery, if one was wanted and is not there. */
  public Optional<String> refusal() {
    return nursery.refusal();
  }

  /** From now on there is such a zygote, and no other, for those boxes that are wanted of one. */
  public void hatch(ZygotePolicy wanted) throws KernelException {
    closeZygote();
    zygote = new NurseryKeeper(Optional.of(wanted));
  }

  private void closeZygote() throws KernelException {
    NurseryKeeper keeper = zygote;
    if (keeper != null) {
      keeper.close();
    }
  }

  /** Whether a zygote's box would be as apart from it, and from others, as any. */
  public static boolean canHatch(BoxHost host) {
    return host.hierarchies().mode() != CgroupMode.NONE && !host.uids().isShared();
  }

  /** The nursery that shall make such a box; empty: bwrap shall. */
  Optional<Nursery> nursery(BoxHost host, SandboxSpec spec) throws InterruptedException {
    if (policy == Policy.NEVER || !Nursery.canMake(spec)) {
      return Optional.empty();
    }
    boolean isWanted = asked.incrementAndGet() > 1 || policy == Policy.ALWAYS;
    return nursery.next(host, isWanted);
  }

  /** Has the nursery started that {@link #nursery} would start for the first box. */
  public void prepare(BoxHost host) throws InterruptedException {
    if (policy == Policy.ALWAYS) {
      nursery.prepare(host);
    }
  }

  /** The zygote that shall make such a box; empty: another maker shall. */
  Optional<Nursery> zygote(BoxHost host, SandboxSpec spec) throws InterruptedException {
    NurseryKeeper keeper = zygote;
    return keeper == null || policy == Policy.NEVER || !Nursery.canMake(spec)
        ? Optional.empty()
        : keeper.next(host, true);
  }

  /** It died over a box, or would not answer. */
  void lost(BoxHost host, Nursery which, String reason) throws InterruptedException {
    nursery.lost(host, which, reason);
    NurseryKeeper keeper = zygote;
    if (keeper != null) {
      keeper.lost(host, which, reason);
    }
  }

  /** Ends nursery and zygote; no box is made any more. Boxes that they made live on. */
  public void close() throws KernelException {
    try {
      nursery.close();
    } finally {
      closeZygote();
    }
  }
}
