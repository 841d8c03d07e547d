package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cgroup.Hierarchies;
import dev.ebb.engine.Engine;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Resources that killed engines left in one home.
 *
 * <p>This JVM is a subreaper, so all processes that they started are its children by now.
 */
final class Remains {
  private final List<Path> instances;
  private final List<Holding> holdings = new ArrayList<>();

  private Remains(List<Path> instances) {
    this.instances = instances;
  }

  static Remains of(Path home) throws IOException {
    var remains = new Remains(instances(home));
    for (Path instance : remains.instances) {
      remains.holdings.addAll(Ledger.read(instance.resolve("ledger")));
    }
    return remains;
  }

  /** Returns the remains of an engine that was killed while it had {@code boxes}. */
  static Remains ofTenant(Path home, int boxes) throws IOException, InterruptedException {
    try (ChildJvm jvm = Tenant.start(home, boxes)) {
      jvm.awaitLine("full");
      jvm.kill();
    }
    return of(home);
  }

  /** The living processes of the boxes of the one instance that there is. */
  List<ProcessRef> members() throws IOException, KernelException {
    assertThat(instances).hasSize(1);
    return Kin.members(holdings);
  }

  private static List<Path> instances(Path home) throws IOException {
    Path directory = home.resolve("instances");
    if (!Files.exists(directory)) {
      return List.of();
    }
    try (var entries = Files.list(directory)) {
      return entries.toList();
    }
  }

  /** Every cgroup that the ledgers still list. */
  List<Path> cgroups() {
    return holdings.stream()
        .filter(holding -> holding.kind() == Kind.CGROUP)
        .map(holding -> Path.of(holding.subject()))
        .toList();
  }

  /** At every instruction: a line is there before what it names, and goes after it. */
  void assertListed() throws Exception {
    var found = new ArrayList<String>();
    for (Path instance : instances) {
      directories(instance).forEach(path -> found.add(path.toString()));
      String id = instance.getFileName().toString();
      for (Path subtree : Hierarchies.detect().everywhere(id)) {
        if (Files.exists(subtree)) {
          found.add(subtree.toString());
          directories(subtree).forEach(path -> found.add(path.toString()));
        }
      }
    }
    assertThat(holdings).extracting(Holding::subject).containsAll(found);
  }

  private static List<Path> directories(Path path) throws IOException {
    try (var entries = Files.list(path)) {
      return entries.filter(Files::isDirectory).toList();
    }
  }

  /** Every process that the ledgers still list. */
  List<String> processes() {
    return subjects(Kind.PROCESS);
  }

  /** The record of every detached box. */
  List<String> records() {
    return subjects(Kind.RECORD);
  }

  private List<String> subjects(Kind kind) {
    return holdings.stream()
        .filter(holding -> holding.kind() == kind)
        .map(Holding::subject)
        .toList();
  }

  /** Without help: each process must see by itself that its engine is dead. */
  void dieByThemselves() throws Exception {
    awaitDeath();
    assertThat(Kin.boxed(holdings))
        .as("processes that live on as the user of a box")
        .noneMatch(pid -> Kin.living(pid).isPresent());
  }

  private static void awaitDeath() throws Exception {
    Eventually.holds("every process of a dead engine is dead", () -> living().isEmpty());
  }

  /** Children of this JVM that are not dead. */
  static List<Integer> living() {
    return ProcFs.children().stream().filter(pid -> Kin.living(pid).isPresent()).toList();
  }

  /**
   * Sweeps the home.
   *
   * @return the findings about instances that it has now; a sweep also finds what other homes left
   *     when they were removed, for instance by a test run on the same machine
   */
  static List<Recovery.Finding> sweep(Path home, boolean dryRun) throws IOException {
    Set<String> ours =
        instances(home).stream()
            .map(instance -> instance.getFileName().toString())
            .collect(Collectors.toSet());
    return HomeTools.sweep(home, dryRun).stream()
        .filter(finding -> ours.contains(finding.instance()))
        .toList();
  }

  /** The next engine on the home leaves nothing of the dead ones. */
  static List<Recovery.Finding> recover(Path home) throws Exception {
    Remains before = of(home);
    List<Recovery.Finding> findings;
    try (Engine engine = Engine.open(home)) {
      findings = engine.recovered();
      assertThat(engine.leaks()).as("busy cgroups").isZero();
    }
    assertThat(findings).noneMatch(finding -> finding.fate() instanceof Recovery.Fate.Stuck);
    before.assertGone(home);
    return findings;
  }

  /** No instance, cgroup, process or zombie of what there was; and none at all in the home. */
  void assertGone(Path home) throws Exception {
    assertThat(instances(home)).isEmpty();
    for (Path instance : instances) {
      String id = instance.getFileName().toString();
      assertThat(Hierarchies.detect().everywhere(id)).noneMatch(Files::exists);
    }
    // A process that its engine had no time to record sees by itself that it is alone.
    awaitDeath();
    TestHost.reapOrphans();
    assertThat(ProcFs.children()).isEmpty();
  }
}
