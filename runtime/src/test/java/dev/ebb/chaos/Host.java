package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cgroup.Hierarchies;
import dev.ebb.engine.Engine;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Kind;
import dev.ebb.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** An engine of this JVM, and what there was on the host when it had no box. */
final class Host {
  private final Engine engine;
  private final List<Holding> holdings;
  private final Set<Integer> children;

  Host(Engine engine) {
    this.engine = engine;
    holdings = engine.holdings();
    children = Set.copyOf(ProcFs.children());
  }

  /** The name of the engine's instance, which is also that of its cgroups. */
  String instance() {
    return instanceOf(holdings);
  }

  static String instanceOf(List<Holding> holdings) {
    return holdings.stream()
        .filter(holding -> holding.kind() == Kind.CGROUP && holding.box().isEmpty())
        .map(holding -> Path.of(holding.subject()).getFileName().toString())
        .findFirst()
        .orElseThrow();
  }

  /** The engine is as it was: no box, no process, no zombie, no cgroup, no ledger line. */
  void assertNoTrace() throws IOException {
    assertThat(engine.holdings()).isEqualTo(holdings);
    assertThat(ProcFs.children()).as("children").isSubsetOf(children);
    assertThat(boxCgroups(instance())).isEmpty();
    assertThat(engine.leaks()).as("busy cgroups").isZero();
  }

  /** The directories right below an instance, in every hierarchy. */
  static List<Path> boxCgroups(String instance) throws IOException {
    var found = new ArrayList<Path>();
    for (Path path : Hierarchies.detect().everywhere(instance)) {
      try (var entries = Files.newDirectoryStream(path, Files::isDirectory)) {
        entries.forEach(found::add);
      }
    }
    return found;
  }
}
