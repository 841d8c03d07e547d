package dev.ebb.engine;

import dev.ebb.box.Box;
import dev.ebb.box.BoxHost;
import dev.ebb.box.Detachment;
import dev.ebb.box.StoppedBox;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import dev.ebb.store.Home;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Releases every box of an engine and gives its instance back. */
final class Closing {
  private static final Logger LOG = System.getLogger(Closing.class.getName());

  private final Home home;
  private final BoxHost host;
  private final KnownBoxes boxes;
  private final Subtree subtree;

  Closing(Home home, BoxHost host, KnownBoxes boxes, Subtree subtree) {
    this.home = home;
    this.host = host;
    this.boxes = boxes;
    this.subtree = subtree;
  }

  /**
   * Runs once, while no box is made.
   *
   * @throws SandboxException when a box is stuck, which keeps the instance on the ledger
   */
  void run() {
    boxes.close();
    var stuck = new ArrayList<String>();
    for (Box box : boxes.boxes()) {
      release(box).ifPresent(stuck::add);
    }
    for (StoppedBox left : boxes.stopped()) {
      Certificate certificate = left.isDetached() ? left.proof() : left.forget();
      if (!certificate.isClean()) {
        stuck.add(certificate.toString());
      }
    }
    Scope scope = host.scope();
    try (scope) {
      host.backends().close();
      // The process that makes boxes may have been killed between a clone and its announcement.
      var _ = host.reaper().reap(pid -> ProcFs.uid(pid).stream().anyMatch(host.uids()::isOurs));
      if (stuck.isEmpty() && !hasCgroupOfBox()) {
        subtree.remove();
      }
      if (holdings().isEmpty()) {
        home.remove(host.instance().directory());
      }
    } catch (KernelException | IOException e) {
      throw SandboxException.internal(e);
    }
    if (!stuck.isEmpty()) {
      throw new SandboxException(ErrorCode.INTERNAL, "left for the next sweep: " + stuck);
    }
  }

  private List<Holding> holdings() {
    return host.instance().ledger().holdings();
  }

  /** A detached box lives on in its cgroup; a stopped box has only files left. */
  private boolean hasCgroupOfBox() {
    return holdings().stream()
        .anyMatch(held -> held.kind() == Kind.CGROUP && !held.box().isEmpty());
  }

  /**
   * Returns the remains of the box, if any; a failure with one box does not stop the release of
   * others.
   */
  private Optional<String> release(Box box) {
    try {
      if (Detachment.of(box).leaveIfDetached()) {
        return Optional.empty();
      }
      boolean isHopeless = host.patience().isOver() && box.state() == BoxState.STUCK;
      Certificate certificate = isHopeless ? box.certificate().orElseThrow() : boxes.release(box);
      return certificate.isClean() ? Optional.empty() : Optional.of(certificate.toString());
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=box_not_released box=" + box.id(), e);
      return Optional.of(box.id() + ": " + e.getMessage());
    }
  }
}
