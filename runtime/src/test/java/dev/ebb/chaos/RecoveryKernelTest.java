package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.box.BoxSpec;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecSpec;
import dev.ebb.kernel.Filesystem;
import dev.ebb.ledger.Kind;
import dev.ebb.process.ExitCause;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What recovery touches, and what it must not. */
@Tag("kernel")
@LeakChecked
class RecoveryKernelTest {
  private static final ExecSpec SLEEP = ExecSpec.of("sleep", "1000");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP);

  @Test
  void enginesOnOneHomeDoNotTouchEachOther() throws Exception {
    try (Engine one = Engine.open(host.home())) {
      Box box = one.create(BoxSpec.defaults());
      Exec exec = one.start(box, SLEEP);
      try (Engine other = Engine.open(host.home())) {
        assertThat(other.recovered()).isEmpty();
        Box neighbour = other.create(BoxSpec.defaults());
        assertThat(neighbour.uid()).isNotEqualTo(box.uid());
        assertThat(Engine.sweep(host.home(), false)).isEmpty();
      }
      assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(ExitCause.Killed.class);
      assertThat(one.release(box).isClean()).isTrue();
    }
  }

  @Test
  void theInstanceOfALivingProcessIsNeverClaimed() throws Exception {
    try (ChildJvm jvm = Tenant.start(host.home(), 1)) {
      jvm.awaitLine("full");
      List<ProcessRef> members = Kin.members(Remains.of(host.home()).onlyInstance());
      assertThat(members).isNotEmpty();
      try (Engine engine = Engine.open(host.home())) {
        assertThat(engine.recovered()).isEmpty();
      }
      assertThat(Engine.sweep(host.home(), false)).isEmpty();
      assertThat(members).allMatch(ProcessRef::isAlive);
      jvm.kill();
    }
    Remains.of(host.home()).dieByThemselves();
    Remains.recover(host.home());
  }

  @Test
  void aDryRunTellsAllAndChangesNothing() throws Exception {
    Remains remains = Remains.ofTenant(host.home(), 2);
    remains.dieByThemselves();
    Map<String, String> before = contents(host.home());

    List<Recovery.Finding> plan = Engine.sweep(host.home(), true);

    assertThat(contents(host.home())).isEqualTo(before);
    assertThat(remains.cgroups()).isNotEmpty().allMatch(Files::isDirectory);
    assertThat(plan)
        .filteredOn(finding -> finding.kind() == Kind.CGROUP)
        .hasSameSizeAs(remains.cgroups())
        .allMatch(finding -> finding.fate() instanceof Fate.Planned);
    List<Recovery.Finding> done = Engine.sweep(host.home(), false);
    assertThat(done).hasSameSizeAs(plan).noneMatch(f -> f.fate() instanceof Fate.Planned);
    assertThat(remains.cgroups()).noneMatch(Files::exists);
    Remains.recover(host.home());
  }

  private static Map<String, String> contents(Path home) throws IOException {
    var contents = new TreeMap<String, String>();
    try (var paths = Files.walk(home)) {
      for (Path path : (Iterable<Path>) paths::iterator) {
        boolean isText = Files.isRegularFile(path) && !path.startsWith(home.resolve("lib"));
        contents.put(path.toString(), isText ? Files.readString(path) : "");
      }
    }
    return contents;
  }

  @Test
  void aForeignCgroupWithALookAlikeNameIsNotTouched() throws Exception {
    Path unified = Hierarchies.detect().unified().orElseThrow();
    var foreign = Cgroup.create(unified.resolve("ebb-" + Long.toHexString(System.nanoTime())));
    Process sleeper = new ProcessBuilder("sleep", "1000").start();
    try {
      Files.writeString(foreign.path().resolve("cgroup.procs"), Long.toString(sleeper.pid()));
      Remains.ofTenant(host.home(), 1);
      try (Engine engine = Engine.open(host.home())) {
        assertThat(engine.recovered()).isNotEmpty();
      }
      assertThat(foreign.procs()).containsExactly((int) sleeper.pid());
      assertThat(sleeper.isAlive()).isTrue();
    } finally {
      sleeper.destroyForcibly().waitFor();
      Filesystem.rmdir(foreign.path());
    }
    Remains.recover(host.home());
  }
}
