package dev.ebb.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.ebb.testkit.TestHost;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A door may use HTTP, the services, and values of the runtime. */
class ArchitectureTest {
  /** Fewer means that the importer looked in the wrong place. */
  private static final int LEAST_CLASSES = 30;

  private static final Set<String> OF_SERVER =
      Set.of(
          "dev.ebb.server.answer",
          "dev.ebb.server.http",
          "dev.ebb.server.schema",
          "dev.ebb.server.service",
          "dev.ebb.server.service.access");

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes = new ClassFileImporter().importPaths(TestHost.root().resolve("mcp/target/classes"));
  }

  private static Set<String> usedPackages() {
    var used = new TreeSet<String>();
    for (JavaClass type : classes) {
      type.getDirectDependenciesFromSelf()
          .forEach(use -> used.add(use.getTargetClass().getPackageName()));
    }
    return used;
  }

  @Test
  void everyClassIsSeen() {
    assertThat(classes).hasSizeGreaterThan(LEAST_CLASSES);
    assertThat(classes).allMatch(type -> type.getPackageName().equals("dev.ebb.mcp"));
  }

  @Test
  void ofTheServerItUsesHttpAndTheServicesOnly() {
    assertThat(usedPackages())
        .filteredOn(name -> name.startsWith("dev.ebb.server"))
        .containsExactlyInAnyOrderElementsOf(OF_SERVER);
  }

  @Test
  void itKnowsNothingOfTheKernelNorOfHowABoxIsMade() {
    assertThat(usedPackages())
        .contains("dev.ebb.model")
        .doesNotContain(
            "dev.ebb.kernel",
            "java.lang.foreign",
            "dev.ebb.store",
            "dev.ebb.backend.bubblewrap",
            "dev.ebb.backend.forkserver");
  }

  @Test
  void itNeverSleeps() {
    assertThat(classes)
        .flatExtracting(JavaClass::getMethodCallsFromSelf)
        .extracting(call -> call.getName())
        .contains("make")
        .doesNotContain("sleep", "park", "parkNanos", "parkUntil");
  }
}
