package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.fault.Faults;
import dev.ebb.fault.Step;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An error of the JVM in the middle of a release leaves a box that can be released again. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class BrokenReleaseChaosTest {
  private static final List<Step> STEPS =
      List.of(
          Step.KILL_BOX,
          Step.REAP_INIT,
          Step.CLOSE_DESCRIPTORS,
          Step.REMOVE_CGROUPS,
          Step.STRIKE_BOX,
          Step.RETURN_UID);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP, Feature.CGROUPS);

  /** Prints a line for each step. */
  public static void main(String[] arguments) {
    try (Engine engine = Engine.open(Path.of(arguments[0]))) {
      for (Step step : STEPS) {
        System.out.println(step + " " + breakAt(engine, step));
      }
    }
  }

  private static String breakAt(Engine engine, Step step) {
    Box box = engine.create(BoxSpec.defaults());
    Faults.breakAt(step);
    String first = "no error";
    try {
      var _ = engine.stop(box);
    } catch (InternalError e) {
      first = box.state().wireName();
    }
    boolean wentOff = Faults.disarm();
    Certificate certificate = engine.release(box);
    boolean isGone = box.state() == BoxState.GONE && certificate.isClean();
    return wentOff + " " + first + ", then " + (isGone ? "gone" : certificate);
  }

  @Test
  void theReleaseCanBeRepeated() throws Exception {
    String home = host.home().toString();
    try (ChildJvm jvm =
        ChildJvm.startWith(List.of(Faults.OPTION), BrokenReleaseChaosTest.class, home)) {
      assertThat(jvm.awaitExit(Duration.ofMinutes(1))).as(jvm.describe()).isZero();
      assertThat(jvm.lines())
          .containsExactlyElementsOf(
              STEPS.stream().map(step -> step + " true stuck, then gone").toList());
    }
  }
}
