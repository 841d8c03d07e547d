package dev.ebb.engine;

import dev.ebb.backend.Capability;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.backend.ZygotePolicy;
import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Fate;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.Interpreter;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pool.WarmPool;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.BiConsumer;

/** Opens the pool of an engine, and makes its boxes. */
final class PoolMaker implements WarmPool.Maker {
  private static final Logger LOG = System.getLogger(PoolMaker.class.getName());

  private final Engine engine;
  private final BoxHost host;
  private final KnownBoxes boxes;

  /** No message for a host that cannot do what was not asked for. */
  private volatile Level refused = Level.DEBUG;

  PoolMaker(Engine engine, BoxHost host, KnownBoxes boxes) {
    this.engine = engine;
    this.host = host;
    this.boxes = boxes;
  }

  WarmPool open(PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    requirePool(policy);
    refused = policy.adaptation().isPresent() ? Level.DEBUG : Level.WARNING;
    return new WarmPool(this, policy, listener);
  }

  /**
   * Refuses a pool without inventories: a box is handed out only after its init has proven that
   * nothing used it.
   */
  private void requirePool(PoolPolicy policy) {
    SandboxBackend maker = host.backends().fallback();
    if (!policy.isOff() && !maker.capabilities().has(Capability.INVENTORY)) {
      throw new SandboxException(
          ErrorCode.UNSUPPORTED,
          "no pool: a box of backend " + maker.name() + " cannot " + Capability.INVENTORY.action());
    }
  }

  /** The zygote of one backend. */
  private record Zygotes(SandboxBackend backend) implements WarmPool.Copier {
    @Override
    public void use(ZygotePolicy zygote) {
      var _ = copy(zygote);
    }

    private Optional<HostLack> copy(ZygotePolicy zygote) {
      try {
        return backend.copy(zygote);
      } catch (KernelException e) {
        throw SandboxException.internal(e);
      }
    }

    @Override
    public void prepare() throws InterruptedException {
      backend.prepare();
    }

    @Override
    public boolean isReady() {
      return backend.isReady();
    }

    @Override
    public boolean hasFailed() {
      return backend.lack().isPresent();
    }

    @Override
    public void rest() {
      try {
        backend.rest();
      } catch (KernelException e) {
        throw SandboxException.internal(e);
      }
    }
  }

  @Override
  public Optional<WarmPool.Copier> copier(ZygotePolicy first) {
    return host.backends()
        .copier()
        .map(Zygotes::new)
        .filter(each -> isAble(each, first))
        .map(each -> each);
  }

  private boolean isAble(Zygotes zygotes, ZygotePolicy first) {
    Optional<HostLack> lack = zygotes.copy(first);
    lack.ifPresent(
        each -> LOG.log(refused, "event=zygote_refused reason=\"{0}\", ignoring", each.finding()));
    return lack.isEmpty();
  }

  @Override
  public Box make(BoxSpec spec, Optional<Interpreter> interpreter) {
    boolean isPython = interpreter.equals(Optional.of(Interpreter.PYTHON));
    return engine.create(engine.newId(), spec, isPython, state -> {});
  }

  @Override
  public void discard(Box box) {
    if (!engine.release(box).isClean()) {
      // ORDER: it is still one of the boxes, and the next audit ends it.
      boxes.leaveToAudit(box);
    }
  }

  @Override
  public boolean isBusy() {
    return boxes.isMaking();
  }
}
