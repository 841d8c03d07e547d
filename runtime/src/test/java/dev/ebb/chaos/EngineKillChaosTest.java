package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** SIGKILL of the process that Ebb is embedded in. */
@Tag("kernel")
@LeakChecked
class EngineKillChaosTest {
  /** Covers its opening and a few boxes. */
  private static final Duration LIFE = Duration.ofMillis(800);

  /** About what a set-up takes. */
  private static final Duration SETUP = Duration.ofMillis(20);

  private static final int BOXES = 4;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  int rounds() {
    return 25;
  }

  @Test
  void boxesDieWithTheirEngineAndTheNextOneCleansUp() throws Exception {
    Chance chance = Chance.of("engine");
    for (int round = 0; round < rounds(); round++) {
      try (ChildJvm jvm = havoc(chance)) {
        jvm.awaitLine("opening");
        chance.pause(LIFE);
        kill(jvm);
      }
      Remains.of(host.home()).dieByThemselves();
      Remains.recover(host.home());
    }
  }

  @Test
  void theNextEngineCleansUpWhenTheMakerOfABoxDiesToo() throws Exception {
    Chance chance = Chance.of("engine and outside");
    for (int round = 0; round < rounds() / 2; round++) {
      try (ChildJvm jvm = havoc(chance)) {
        jvm.awaitLine("open");
        Eventually.find(Eventually.SOON, () -> Kin.outsides(jvm.pid()).stream().findFirst());
        chance.pause(SETUP);
        List<ProcessRef> outsides = Kin.outsides(jvm.pid());
        kill(jvm);
        for (ProcessRef outside : outsides) {
          outside.signal(Signal.KILL);
        }
      }
      Remains.recover(host.home());
    }
  }

  @Test
  void aRecoveryThatIsKilledIsFinishedByTheNextOne() throws Exception {
    Chance chance = Chance.of("recovery");
    for (int round = 0; round < rounds() / 6; round++) {
      Remains.ofTenant(host.home(), BOXES);
      for (int heirs = 0; heirs < 2; heirs++) {
        try (ChildJvm heir = Tenant.start(host.home(), 0)) {
          heir.awaitLine("opening");
          List<Path> cgroups = Remains.of(host.home()).cgroups();
          int gone = chance.below(cgroups.size() + 1);
          Eventually.holds(
              gone + " of " + cgroups.size() + " cgroups are gone",
              () -> cgroups.stream().filter(Files::notExists).count() >= gone);
          if (cgroups.isEmpty()) { // no line reports its progress
            chance.pause(SETUP);
          }
          kill(heir);
        }
      }
      Remains.recover(host.home());
    }
  }

  @Test
  void ebbInitIsStagedWholeOrNotAtAll() throws Exception {
    for (int round = 0; round < rounds() / 6; round++) {
      Path home = host.newHome();
      Path lib = home.resolve("lib");
      try (ChildJvm jvm = Tenant.start(home, 0)) {
        Eventually.holds("staging has begun", () -> !names(lib).isEmpty());
        kill(jvm);
      }
      Remains.recover(home);
      assertThat(names(lib)).singleElement().asString().matches("ebb-init-[0-9a-f]{8}");
    }
  }

  private static List<String> names(Path directory) {
    return List.of(Objects.requireNonNullElse(directory.toFile().list(), new String[0]));
  }

  @Test
  void theNextEngineEndsABoxThatIsFrozenByVersion1() throws Exception {
    var freezer = Optional.ofNullable(Hierarchies.detect().version1().get("freezer"));
    assumeTrue(freezer.isPresent(), "host lacks a v1 freezer");
    try (ChildJvm jvm = Tenant.start(host.home(), 1)) {
      jvm.awaitLine("full");
      for (Path cgroup : Remains.of(host.home()).cgroups()) {
        if (cgroup.startsWith(freezer.get())) {
          Files.writeString(cgroup.resolve("freezer.state"), "FROZEN");
        }
      }
      kill(jvm);
    }
    assertThat(Remains.living()).as("frozen, they cannot die by themselves").isNotEmpty();
    Remains.recover(host.home());
  }

  @MustBeClosed
  private ChildJvm havoc(Chance chance) throws IOException {
    return ChildJvm.start(Havoc.class, host.home().toString(), Long.toString(chance.nextLong()));
  }

  private static void kill(ChildJvm jvm) throws IOException, InterruptedException {
    assertThat(jvm.isAlive()).as("alive before the kill").isTrue();
    jvm.kill();
  }
}
