package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Holding;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** An engine of this JVM, and what there was on the host when it had no box. */
final class Host {
  private static final int SELF = (int) ProcessHandle.current().pid();

  private final Engine engine;
  private final List<Holding> holdings;
  private final Set<Integer> children;

  Host(Engine engine) {
    this.engine = engine;
    holdings = holdings();
    children = Set.copyOf(ProcFs.children());
  }

  /** Whether a command has a subreaper beside it, where no cgroup separates the execs. */
  static boolean hasSubreapers(Engine engine) {
    return engine.hierarchies().mode() == CgroupMode.NONE;
  }

  /** The living processes of its boxes: those of half-made boxes descend from their maker. */
  List<ProcessRef> members() throws IOException, KernelException {
    if (!hasSubreapers(engine)) {
      return Kin.members(engine.holdings());
    }
    var members = new ArrayList<ProcessRef>();
    for (ProcessRef outside : Kin.outsides(SELF)) {
      Kin.descendants(outside.pid()).forEach(pid -> Kin.living(pid).ifPresent(members::add));
    }
    return members;
  }

  /** The engine is as it was: no box, no process, no zombie, no cgroup, no ledger line. */
  void assertNoTrace() throws IOException {
    assertThat(holdings()).isEqualTo(holdings);
    assertThat(ProcFs.children())
        .as(() -> "children " + ProcFs.children().stream().map(Kin::describe).toList())
        .filteredOn(pid -> !Kin.forkservers(engine.holdings()).contains(pid))
        .isSubsetOf(children);
    assertThat(boxCgroups()).isEmpty();
    assertThat(engine.leaks()).as("busy cgroups").isZero();
  }

  /** Except the processes that make boxes, which stay with the engine. */
  private List<Holding> holdings() {
    return engine.holdings().stream()
        .filter(held -> !held.box().equals(ForkserverBackend.NAME))
        .toList();
  }

  /** The directories directly below that of the instance in each hierarchy. */
  private List<Path> boxCgroups() throws IOException {
    List<Path> instance = Kin.instanceCgroups(holdings);
    assertThat(instance).hasSameSizeAs(engine.hierarchies().everywhere("any"));
    var found = new ArrayList<Path>();
    for (Path path : instance) {
      try (var entries = Files.newDirectoryStream(path, Files::isDirectory)) {
        entries.forEach(found::add);
        found.removeIf(each -> each.endsWith(ForkserverBackend.NAME));
      }
    }
    return found;
  }
}
