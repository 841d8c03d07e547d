package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.engine.AdoptedBoxes;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.fault.Faults;
import dev.ebb.fault.Step;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExitCause;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Walks the table of steps: an engine crashes at each, or each fails, and nothing is left. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class StepChaosTest {
  private static final int KILLED = 128 + 9;
  private static final Set<Life> ENDS_WITH_ITS_ENGINE =
      EnumSet.of(Life.ATTACHED, Life.REFUSED, Life.LISTED, Life.SWEPT);
  private static final Duration MANY_LIVES = TestHost.patience(Duration.ofMinutes(4));

  /** Most of a short life is the start of its JVM. */
  private static final List<String> QUICK =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP, Feature.CGROUPS);

  /** A life in which a step is reached. */
  record Case(Life life, Step step) {
    @Override
    public String toString() {
      return step + " in a life " + life;
    }
  }

  /** Each step once, and those of a release also where a box could not be made. */
  static Stream<Case> cases() {
    return Stream.of(Step.values()).flatMap(StepChaosTest::cases);
  }

  private static Stream<Case> cases(Step step) {
    if (step == Step.END_OUTSIDE) {
      return Stream.of(new Case(Life.REFUSED, step));
    }
    return switch (step.phase()) {
      case DETACH, ADOPTION, EGRESS -> Stream.of(new Case(Life.DETACHED, step));
      case RECOVERY -> Stream.of(new Case(Life.RECOVERED, step));
      case LEDGER -> Stream.of(new Case(Life.LISTED, step));
      case SWEEP -> Stream.of(new Case(Life.SWEPT, step));
      case RELEASE -> Stream.of(new Case(Life.ATTACHED, step), new Case(Life.REFUSED, step));
      case OPEN, CREATE, FORKSERVER, EXEC, KILL, PAUSE, LANE, HISTORY, CLOSE ->
          Stream.of(new Case(Life.ATTACHED, step));
    };
  }

  @AfterEach
  void releaseAll() throws Exception {
    AdoptedBoxes.releaseAll(host);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aCrashIsRecoveredFrom(Case at) throws Exception {
    Path home = host.home();
    List<String> said;
    try (ChildJvm jvm = start(Life.class, Faults.crashAt(at.step), home, at.life.name())) {
      assertThat(jvm.awaitExit()).as(() -> "exit of\n" + describe(jvm)).isEqualTo(KILLED);
      said = jvm.lines();
    }
    if (at.life != Life.SWEPT) {
      // The resources to sweep exist because no ledger lists them.
      Remains.of(home).assertListed();
    }
    if (ENDS_WITH_ITS_ENGINE.contains(at.life)) {
      Remains.of(home).dieByThemselves();
      Remains.recover(home);
    } else {
      Remains before = Remains.of(home);
      inherit(home, said);
      before.assertGone(home);
    }
  }

  private static String describe(ChildJvm jvm) {
    try {
      return jvm.describe();
    } catch (IOException e) {
      return e.toString();
    }
  }

  @MustBeClosed
  private static ChildJvm start(Class<?> main, String fault, Path home, String... more)
      throws IOException {
    var options = Stream.concat(QUICK.stream(), Stream.of(fault)).toList();
    var arguments = Stream.concat(Stream.of(home.toString()), Stream.of(more));
    return ChildJvm.startWith(options, main, arguments.toArray(String[]::new));
  }

  /** The next daemon finds what the last one had reported, and can release it. */
  private static void inherit(Path home, List<String> said) throws Exception {
    try (Engine engine = Engine.openForDaemon(home)) {
      assertThat(engine.recovered())
          .noneMatch(finding -> finding.fate() instanceof Recovery.Fate.Stuck);
      List<Engine.Adopted> adopted = engine.adopt();
      var heirloom =
          adopted.stream()
              .filter(each -> "heirloom".equals(each.record().orElseThrow().note().get("name")))
              .findFirst();
      if (said.contains("detached") && !said.contains("stopping")) {
        assertAsItWas(heirloom.orElseThrow(), said);
      }
      for (Engine.Adopted each : adopted) {
        Certificate certificate = engine.release(each.box());
        assertThat(certificate.isClean()).as(certificate::toString).isTrue();
      }
      assertThat(engine.leaks()).as("busy cgroups").isZero();
    }
  }

  private static void assertAsItWas(Engine.Adopted found, List<String> said) throws Exception {
    assertThat(found.box().state()).isEqualTo(BoxState.RUNNING);
    if (said.contains("ended")) {
      Exec ended = found.execs().getFirst();
      assertThat(ended.await(Eventually.SOON).orElseThrow().cause())
          .isEqualTo(new ExitCause.Exited(7));
    }
    if (said.contains("running")) {
      assertThat(found.execs().getLast().pids()).hasSize(1);
    }
  }

  @ParameterizedTest
  @EnumSource(Life.class)
  void aFailureIsReportedAndLeavesNothing(Life life) throws Exception {
    List<String> steps =
        cases()
            .filter(each -> each.life == life && each.step.errno().isPresent())
            .map(each -> each.step.name())
            .toList();
    var arguments = Stream.concat(Stream.of(life.name()), steps.stream()).toArray(String[]::new);
    try (ChildJvm jvm = start(Trial.class, Faults.OPTION, host.home(), arguments)) {
      assertThat(jvm.awaitExit(MANY_LIVES)).as(() -> describe(jvm)).isZero();
      assertThat(jvm.lines()).filteredOn(line -> line.startsWith(Trial.BAD)).isEmpty();
      assertThat(jvm.lines()).filteredOn(line -> line.startsWith(Trial.GOOD)).hasSameSizeAs(steps);
    }
  }
}
