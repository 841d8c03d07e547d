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

  PoolMaker(Engine engine, BoxHost host, KnownBoxes boxes) {
    this.engine = engine;
    this.host = host;
    this.boxes = boxes;
  }

  WarmPool open(PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    requirePool(policy);
    policy.zygote().ifPresent(this::useZygote);
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

  private void useZygote(ZygotePolicy zygote) {
    Optional<SandboxBackend> copier = host.backends().copier();
    if (copier.isEmpty()) {
      return;
    }
    try {
      Optional<HostLack> lack = copier.get().copy(zygote);
      lack.ifPresent(
          each ->
              LOG.log(
                  Level.WARNING, "event=zygote_refused reason=\"{0}\", ignoring", each.finding()));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
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
