package dev.ebb.engine;

import static java.util.Objects.requireNonNull;

import dev.ebb.box.BoxHost;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Subtrees;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.store.Home;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The cgroups of an instance, one in each hierarchy; its boxes lie below. Made when an engine is
 * opened and removed when it is closed, both by one thread at a time.
 */
final class Subtree {
  private static final Logger LOG = System.getLogger(Subtree.class.getName());

  private final Home home;
  private final BoxHost host;

  /** The ledger lines of the instance itself. */
  private final List<Holding> holdings = new ArrayList<>();

  /** The cgroup that this process moved into, below its former one, if it had to. */
  private @Nullable Path movedTo;

  Subtree(Home home, BoxHost host) {
    this.home = home;
    this.host = host;
  }

  void create() throws KernelException, IOException {
    String id = host.instance().id();
    var paths = new ArrayList<>(host.hierarchies().everywhere(id));
    Optional<Path> ours = host.hierarchies().leafOfOurs(id);
    ours.ifPresent(paths::add);
    hold(paths);
    for (Path each : paths) {
      if (!host.instance().resumed() || Files.notExists(each)) {
        Step.MAKE_SUBTREE.reach();
        Cgroup.create(each);
      }
    }
    paths.forEach(this::mark);
    if (ours.isPresent()) {
      new Cgroup(ours.get()).enter();
      movedTo = ours.get();
    }
    host.hierarchies().delegate(id);
  }

  private void hold(List<Path> paths) throws KernelException {
    Ledger ledger = host.instance().ledger();
    ledger.holdings().stream().filter(held -> held.box().isEmpty()).forEach(holdings::add);
    var entries =
        paths.stream()
            .map(path -> new Ledger.Entry(Kind.CGROUP, path.toString()))
            .filter(entry -> holdings.stream().noneMatch(held -> isSame(held, entry)))
            .toList();
    Step.HOLD_SUBTREE.reach();
    holdings.addAll(ledger.hold("", entries));
  }

  private static boolean isSame(Holding held, Ledger.Entry entry) {
    return held.kind() == entry.kind() && held.subject().equals(entry.subject());
  }

  /** Marks a cgroup, so that this home recognizes it even if every file about it is lost. */
  private void mark(Path cgroup) {
    try {
      Subtrees.mark(cgroup, home.identity());
    } catch (IOException e) {
      // A claim of uids, if there is one, names the home, too.
      LOG.log(Level.INFO, "event=cgroup_not_marked path={0} reason=\"{1}\" ignoring", cgroup, e);
    }
  }

  /** Removes the cgroups and strikes their lines; no box may be left in them. */
  void remove() throws KernelException {
    Step.REMOVE_SUBTREE.reach();
    // ORDER: after the boxes, their subtree is removed; then only this process's cgroup has
    // controllers.
    for (Holding holding : holdings) {
      Path path = Path.of(holding.subject());
      if (path.equals(movedTo)) {
        comeBack(requireNonNull(path.getParent()));
      }
      host.removal().remove(new Cgroup(path));
    }
    Step.STRIKE_SUBTREE.reach();
    host.instance().ledger().strike(holdings);
  }

  /** Returns to the former cgroup, because a process cannot remove the cgroup that it is in. */
  private void comeBack(Path left) throws KernelException {
    BoxCgroup.withdraw(new Cgroup(left));
    new Cgroup(left).enter();
    movedTo = null;
  }
}
