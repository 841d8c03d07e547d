package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The rules that the main classes of every module obey. The architecture test of a module
 * implements this interface, and states what is particular to the module.
 */
public interface ArchitectureRules {
  /** The directory of the module in the clone. */
  String module();

  /** All packages of the module: each may use only itself and those before it. */
  List<String> packages();

  /** The least number of classes that must be seen: fewer were looked for in the wrong place. */
  int leastClasses();

  /** Packages that do not use each other, although their order would allow it. */
  default Set<String> separatePackages() {
    return Set.of();
  }

  /** Directories of other modules of Ebb, of which it may use what they export. */
  default Set<String> usedModules() {
    return Set.of();
  }

  /** Packages of libraries that it may use, with the packages below them. */
  default Set<String> libraries() {
    return Set.of();
  }

  /** True for the one module that calls native code, and in which threads sleep. */
  default boolean isKernel() {
    return false;
  }

  @Test
  default void theModuleIsSeen() {
    var classes = ModuleClasses.of(module());

    assertThat(classes.count()).isGreaterThanOrEqualTo(leastClasses());
    assertThat(classes.packages()).containsExactlyInAnyOrderElementsOf(packages());
  }

  /** An order of packages has no cycles. */
  @Test
  default void noPackageUsesALaterOne() {
    assertThat(packages()).doesNotHaveDuplicates();
    assertThat(ModuleClasses.of(module()).usesAgainst(packages())).isEmpty();
  }

  @Test
  default void separatePackagesDoNotUseEachOther() {
    assertThat(packages()).containsAll(separatePackages());
    assertThat(ModuleClasses.of(module()).usesAmong(separatePackages())).isEmpty();
  }

  @Test
  default void nothingElseIsUsed() {
    assertThat(ModuleClasses.of(module()).usesBeside(usedModules(), libraries())).isEmpty();
  }

  @Test
  default void everyPackageIsNullMarked() {
    assertThat(ModuleClasses.of(module()).packagesWithoutNullMarked()).isEmpty();
  }

  /** Programs are started by the kernel module, which passes on only named descriptors. */
  @Test
  default void noProcessIsStartedByTheJdk() {
    assertThat(ModuleClasses.of(module()).usesOfProcesses()).isEmpty();
  }

  /** Waiting for what has no descriptor is done in one way, by a Deadline of the kernel module. */
  @Test
  default void onlyTheKernelModuleSleeps() {
    var sleeps = ModuleClasses.of(module()).sleeps();

    assertThat(sleeps.isEmpty()).as(sleeps.toString()).isNotEqualTo(isKernel());
  }

  @Test
  default void onlyTheKernelModuleCallsNativeCode() {
    var uses = ModuleClasses.of(module()).usesOfNativeCode();

    assertThat(uses.isEmpty()).as(uses.toString()).isNotEqualTo(isKernel());
  }

  /**
   * The classes that may touch the streams, environment, directory, signals and end of their own
   * process; empty if the module has no such rule.
   */
  default Set<String> ownersOfTheProcess() {
    return Set.of();
  }

  @Test
  default void onlyItsOwnersTouchTheProcess() {
    Set<String> owners = ownersOfTheProcess();
    if (!owners.isEmpty()) {
      assertThat(ModuleClasses.of(module()).usesOfThisProcess(owners)).isEmpty();
    }
  }
}
