package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Each rule of the architecture sees the class that breaks it. */
class ModuleClassesTest {
  private static final String LOWER = "dev.ebb.testkit.offences";
  private static final String UPPER = LOWER + ".upper";

  private final ModuleClasses classes =
      ModuleClasses.at(
          TestHost.root().resolve("testkit/target/test-classes/dev/ebb/testkit/offences"));

  private static void assertSeen(List<String> uses, String method) {
    assertThat(uses).isNotEmpty().allMatch(use -> use.contains("Offender." + method));
  }

  @Test
  void allClassesAndPackagesAreCounted() {
    assertThat(classes.count()).isEqualTo(2);
    assertThat(classes.packages()).containsExactly(LOWER, UPPER);
  }

  @Test
  void aUseOfALaterPackageIsSeen() {
    assertSeen(classes.usesAgainst(List.of(LOWER, UPPER)), "usesWhatLiesAbove");
    assertThat(classes.usesAgainst(List.of(UPPER, LOWER))).isEmpty();
  }

  @Test
  void aUseOfASeparatePackageIsSeen() {
    assertSeen(classes.usesAmong(Set.of(LOWER, UPPER)), "usesWhatLiesAbove");
    assertThat(classes.usesAmong(Set.of(LOWER))).isEmpty();
  }

  @Test
  void aUseOfALibraryIsSeen() {
    assertSeen(classes.usesBeside(Set.of(), Set.of()), "usesALibrary");
    assertThat(classes.usesBeside(Set.of(), Set.of("org.assertj"))).isEmpty();
  }

  @Test
  void aPackageThatIsNotNullMarkedIsSeen() {
    assertThat(classes.packagesWithoutNullMarked()).containsExactly(LOWER, UPPER);
  }

  @Test
  void processesSleepsAndNativeCodeAreSeen() {
    assertSeen(classes.usesOfProcesses(), "startsAProcess");
    assertSeen(classes.sleeps(), "sleeps");
    assertSeen(classes.usesOfNativeCode(), "callsNativeCode");
  }

  /** The exports of a module are what its users may use. */
  @Test
  void aUseOfAnotherModuleIsSeen() {
    var oracle = ModuleClasses.of("oracle");

    assertThat(oracle.usesBeside(Set.of("kernel"), Set.of())).isEmpty();
    assertThat(oracle.usesBeside(Set.of(), Set.of())).isNotEmpty();
  }
}
