package dev.ebb.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.ebb.testkit.TestHost;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The packages of the server, as docs/design/daemon.md has them. */
class LayersTest {
  /** Each package may use only itself and those before it. */
  private static final List<String> LAYERS =
      List.of(
          "dev.ebb.server.schema",
          "dev.ebb.server.service.access",
          "dev.ebb.server.metrics",
          "dev.ebb.server.pressure",
          "dev.ebb.server.service",
          "dev.ebb.server.http",
          "dev.ebb.server.answer",
          "dev.ebb.server.doors",
          "dev.ebb.server.rest",
          "dev.ebb.server.front",
          "dev.ebb.server");

  /**
   * A door uses the packages above it, and no other door; a door in its own module has its own
   * test.
   */
  private static final Set<String> DOORS = Set.of("dev.ebb.server.rest");

  /** Fewer means that the importer looked in the wrong place. */
  private static final int LEAST_CLASSES = 150;

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes = new ClassFileImporter().importPaths(TestHost.root().resolve("server/target/classes"));
  }

  private static List<String> wrong(Predicate<JavaClass> from, Predicate<Dependency> isWrong) {
    var wrong = new ArrayList<String>();
    for (JavaClass each : classes) {
      if (from.test(each)) {
        each.getDirectDependenciesFromSelf().stream()
            .filter(isWrong)
            .forEach(use -> wrong.add(use.getDescription()));
      }
    }
    return wrong;
  }

  private static boolean isDoor(JavaClass type) {
    return DOORS.contains(type.getPackageName());
  }

  private static List<String> upwardEdges(List<String> layers) {
    return wrong(
        _ -> true,
        use ->
            layers.indexOf(use.getTargetClass().getPackageName())
                > layers.indexOf(use.getOriginClass().getPackageName()));
  }

  @Test
  void everyClassIsSeen() {
    assertThat(classes).hasSizeGreaterThan(LEAST_CLASSES);
    assertThat(classes).allMatch(type -> LAYERS.contains(type.getPackageName()));
    for (String layer : LAYERS) {
      assertThat(classes).as(layer).anyMatch(type -> type.getPackageName().equals(layer));
    }
  }

  @Test
  void noPackageUsesALaterOne() {
    assertThat(upwardEdges(LAYERS)).isEmpty();
  }

  @Test
  void anUpwardEdgeWouldBeSeen() {
    assertThat(upwardEdges(LAYERS.reversed())).hasSizeGreaterThan(100);
  }

  /** The parts of a box are internal to the engine. */
  @Test
  void theDoorsDoNotReachBehindTheEngine() {
    assertThat(classes)
        .flatExtracting(JavaClass::getDirectDependenciesFromSelf)
        .extracting(use -> use.getTargetClass().getPackageName())
        .doesNotContain(
            "dev.ebb.backend.bubblewrap",
            "dev.ebb.backend.forkserver",
            "dev.ebb.init",
            "dev.ebb.cgroup");
  }

  @Test
  void aDoorKnowsNothingOfTheKernelNorOfAnotherDoor() {
    assertThat(wrong(LayersTest::isDoor, LayersTest::isForbiddenToDoors)).isEmpty();
    assertThat(wrong(type -> !isDoor(type), LayersTest::isForbiddenToDoors))
        .as("the rule would see it")
        .hasSizeGreaterThan(20);
  }

  private static boolean isForbiddenToDoors(Dependency use) {
    String target = use.getTargetClass().getPackageName();
    boolean isOtherDoor =
        DOORS.contains(target) && !target.equals(use.getOriginClass().getPackageName());
    return target.equals("dev.ebb.kernel")
        || target.equals("dev.ebb.store")
        || target.equals("java.lang.foreign")
        || isOtherDoor;
  }

  /** Waiting for a condition is what the services do for doors. */
  @Test
  void neitherHttpNorADoorSleeps() {
    var sleepers = new ArrayList<String>();
    for (JavaClass type : classes) {
      if (isDoor(type) || type.getPackageName().equals("dev.ebb.server.http")) {
        type.getMethodCallsFromSelf().stream()
            .filter(call -> call.getName().matches("sleep|park|parkNanos|parkUntil"))
            .forEach(call -> sleepers.add(call.getDescription()));
      }
    }
    assertThat(sleepers).isEmpty();
  }
}
