package dev.ebb.box;

import dev.ebb.backend.Capability;
import dev.ebb.backend.Sandbox;
import dev.ebb.cgroup.CgroupLimits;
import dev.ebb.init.BoxContents;
import dev.ebb.init.Inventory;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.FirstFile;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** A box that was made before it was ordered: checks, fits and hands it over. */
public final class MadeAhead {
  private final Box box;

  private MadeAhead(Box box) {
    this.box = box;
  }

  /** Used by a pool that keeps {@code box}. */
  public static MadeAhead of(Box box) {
    return new MadeAhead(box);
  }

  /** Returns whether the box continues a process of its zygote. */
  public boolean isCopy() {
    return box.parts().backend().has(Capability.ZYGOTE);
  }

  /** Returns the inventory that its init takes; empty if init does not answer in time. */
  public Optional<BoxContents> inventory(Duration patience)
      throws KernelException, InterruptedException {
    return sandbox().inventory(Deadline.in(patience));
  }

  /** Returns the inventory, and the entry of a file that init writes right after taking it. */
  public Optional<Inventory> inventoryThenWrite(FirstFile file, Duration patience)
      throws KernelException, InterruptedException {
    return sandbox().inventoryThenWrite(file, Deadline.in(patience));
  }

  private Sandbox sandbox() {
    box.parts().backend().require(Capability.INVENTORY);
    return box.parts().init().sandbox();
  }

  /** Gives it the limits and the network of {@code wanted}, which it {@link BoxSpec#canBecome}. */
  public void specialise(BoxSpec wanted) throws KernelException, InterruptedException {
    BoxSpec spec = box.spec();
    if (!spec.canBecome(wanted)) {
      throw new IllegalArgumentException("box " + box.id() + " cannot become " + wanted);
    }
    box.parts().enclosure().limit(CgroupLimits.of(spec.limits()), CgroupLimits.of(wanted.limits()));
    box.parts().network().open(wanted.network().policy());
    box.specialised(wanted);
  }

  /** Calls {@code owner} for each change of state from now on, and first for the current state. */
  public void handTo(Consumer<BoxState> owner) {
    box.parts().lifecycle().handTo(owner);
  }
}
