package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.sh;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.box.Insides;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.CoveredFile;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An engine that cannot read a cgroup, or cannot use its cgroup.kill, still kills. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class BlindReleaseKernelTest {
  private static final String THREE = "sleep 1000 & sleep 1000 & echo ready; exec sleep 1000";

  @RegisterExtension
  final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP, Feature.CGROUPS);

  /** A control file of a cgroup that fails. */
  record Fault(String file, boolean isForReading) {
    CoveredFile cover(Cgroup cgroup) throws IOException {
      Path path = cgroup.path().resolve(file);
      return isForReading ? CoveredFile.unreadable(path) : CoveredFile.unwritable(path);
    }

    @Override
    public String toString() {
      return file + (isForReading ? " unreadable" : " unwritable");
    }
  }

  private static final Fault PROCS = new Fault("cgroup.procs", true);
  private static final Fault EVENTS = new Fault("cgroup.events", true);
  private static final Fault KILL = new Fault("cgroup.kill", false);

  static Stream<List<Fault>> faults() {
    return Stream.of(List.of(PROCS), List.of(KILL), List.of(EVENTS), List.of(PROCS, KILL, EVENTS));
  }

  /** Covers files of all {@code cgroups} until the result is closed. */
  private static AutoCloseable cover(List<Fault> faults, Cgroup... cgroups) throws IOException {
    var covered = new ArrayList<AutoCloseable>();
    for (Cgroup cgroup : cgroups) {
      for (Fault fault : faults) {
        covered.add(fault.cover(cgroup));
      }
    }
    return () -> {
      for (AutoCloseable each : covered) {
        each.close();
      }
    };
  }

  private static List<ProcessRef> living(List<Integer> pids) {
    return pids.stream().flatMap(pid -> ProcessRef.of(pid).stream()).toList();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void aReleaseThatCannotLookStillKills(List<Fault> faults) throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      awaitOutput(engine.start(box, sh(THREE)), "ready");
      var cgroup = (BoxCgroup) Insides.enclosure(box);
      List<ProcessRef> members = living(box.footprint().pids());
      assertThat(members).hasSize(4);
      try (var _ = cover(faults, cgroup.box(), cgroup.init(), cgroup.leaf(1))) {
        Certificate certificate = engine.release(box);
        assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
        assertThat(certificate.released().get(Kind.PROCESS)).isEqualTo(members.size());
        assertThat(members).noneMatch(ProcessRef::exists);
        assertThat(box.state()).isEqualTo(BoxState.GONE);
      }
    }
  }

  /** A process in the cgroup, and not in the pid namespace, does not die with init. */
  @ParameterizedTest
  @MethodSource("faults")
  void aStrangerInTheBoxDiesToo(List<Fault> faults) throws Exception {
    Process stranger = new ProcessBuilder("sleep", "1000").start();
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      var cgroup = (BoxCgroup) Insides.enclosure(box);
      Files.writeString(
          cgroup.init().path().resolve("cgroup.procs"), Long.toString(stranger.pid()));
      try (var _ = cover(faults, cgroup.box(), cgroup.init())) {
        Certificate certificate = engine.release(box);
        assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
        assertThat(stranger.waitFor()).isEqualTo(128 + 9);
      }
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }

  @ParameterizedTest
  @MethodSource("faults")
  void aCommandIsKilledByOtherMeans(List<Fault> faults) throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Exec exec = engine.start(box, sh(THREE));
      awaitOutput(exec, "ready");
      var cgroup = (BoxCgroup) Insides.enclosure(box);
      List<ProcessRef> members = living(exec.pids());
      try (var _ = cover(faults, cgroup.leaf(1))) {
        ExecResult result = exec.killAndAwait(Duration.ZERO);
        assertThat(result.cause()).isInstanceOf(ExitCause.Killed.class);
        assertThat(members).isNotEmpty().noneMatch(ProcessRef::isAlive);
        assertThat(box.state()).isEqualTo(BoxState.RUNNING);
      }
    }
  }

  /** The engine's own kill of a command, which init could not end. */
  @ParameterizedTest
  @MethodSource("faults")
  void aTreeThatInitCannotEndIsEndedByTheEngine(List<Fault> faults) throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Exec exec = engine.start(box, sh(THREE));
      awaitOutput(exec, "ready");
      var cgroup = (BoxCgroup) Insides.enclosure(box);
      List<ProcessRef> members = living(exec.pids());
      assertThat(members).hasSize(3);
      try (var _ = cover(faults, cgroup.leaf(1))) {
        cgroup.leaves().end(1);
        assertThat(members).noneMatch(ProcessRef::isAlive);
        assertThat(exec.await(Workbench.PATIENCE)).isPresent();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("faults")
  void aSweepKillsTheProcessesInAStrayCgroup(List<Fault> faults) throws Exception {
    Process stranger = new ProcessBuilder("sleep", "1000").start();
    try (Engine engine = Engine.open(host.home())) {
      Path box = ((BoxCgroup) Insides.enclosure(engine.create(BoxSpec.defaults()))).box().path();
      Path stray = Files.createDirectory(box.resolveSibling("unlisted"));
      Files.writeString(stray.resolve("cgroup.procs"), Long.toString(stranger.pid()));
      try (var _ = cover(faults, new Cgroup(stray))) {
        List<Recovery.Finding> findings = engine.audit(false);
        assertThat(stranger.waitFor()).isEqualTo(128 + 9);
        assertThat(findings)
            .contains(
                new Recovery.Finding(
                    String.valueOf(requireNonNull(box.getParent()).getFileName()),
                    Kind.CGROUP,
                    stray.toString(),
                    new Recovery.Fate.Released()));
      }
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }
}
