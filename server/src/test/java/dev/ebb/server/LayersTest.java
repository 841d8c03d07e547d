package dev.ebb.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.ebb.testkit.TestHost;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The packages of the server, as ARCHITECTURE.md has them. */
class LayersTest {
  /** Each may use only itself and those before it. */
  private static final List<String> LAYERS =
      List.of(
          "dev.ebb.server.access",
          "dev.ebb.server.metrics",
          "dev.ebb.server.pressure",
          "dev.ebb.server.boxes",
          "dev.ebb.server.code",
          "dev.ebb.server.rest",
          "dev.ebb.server");

  /** Fewer means that the importer looked in the wrong place. */
  private static final int LEAST_CLASSES = 40;

  @Test
  void noPackageUsesOneThatComesAfterIt() {
    var classes =
        new ClassFileImporter().importPaths(TestHost.root().resolve("server/target/classes"));
    assertThat(classes.size()).isGreaterThan(LEAST_CLASSES);
    var wrong = new ArrayList<String>();
    for (JavaClass each : classes) {
      int layer = LAYERS.indexOf(each.getPackageName());
      assertThat(layer).as(each.getName()).isNotNegative();
      each.getDirectDependenciesFromSelf().stream()
          .filter(use -> LAYERS.indexOf(use.getTargetClass().getPackageName()) > layer)
          .forEach(use -> wrong.add(use.getDescription()));
    }
    assertThat(wrong).isEmpty();
  }

  /** What a box is made of is the engine's business. */
  @Test
  void theDoorsDoNotReachBehindTheEngine() {
    var classes =
        new ClassFileImporter().importPaths(TestHost.root().resolve("server/target/classes"));
    assertThat(classes)
        .flatExtracting(JavaClass::getDirectDependenciesFromSelf)
        .extracting(use -> use.getTargetClass().getPackageName())
        .doesNotContain("dev.ebb.backend.bubblewrap", "dev.ebb.store");
  }
}
