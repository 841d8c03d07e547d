package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FirstFile;
import dev.ebb.model.PlannedStart;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which modules python imports before it waits. */
@Timeout(30)
final class PreloadsTest {
  private final Preloads preloads = new Preloads(List.of(), true, ByteSize.mebibytes(32));

  private void runTwice(String code) throws InterruptedException {
    for (int i = 0; i < 2; i++) {
      preloads.note(PlannedStart.of(ExecSpec.of("python3", "-c", code)));
    }
  }

  private void accept(String name, long millis, long mebibytes) {
    var cost = new Preloads.Cost(Duration.ofMillis(millis), ByteSize.mebibytes(mebibytes));
    preloads.tried(name, Optional.of(cost));
  }

  @Test
  void aModuleIsTriedOnceTwoProgramsImportIt() throws Exception {
    preloads.note(PlannedStart.of(ExecSpec.of("python3", "-c", "import once")));
    var file = new FirstFile("main.py", 0644, "import twice".getBytes(StandardCharsets.UTF_8));
    var ofFile =
        new PlannedStart(Optional.of(ExecSpec.of("python3", "main.py")), Optional.of(file));
    preloads.note(ofFile);
    preloads.note(ofFile);
    assertThat(preloads.awaitCandidates()).containsExactly("twice");
  }

  @Test
  void whatFailedItsTrialIsNeitherTriedAgainNorImported() throws Exception {
    runTwice("import bad");
    assertThat(preloads.awaitCandidates()).containsExactly("bad");
    preloads.tried("bad", Optional.empty());
    runTwice("import bad");
    runTwice("import good");
    assertThat(preloads.awaitCandidates()).containsExactly("good");
    accept("good", 10, 1);
    assertThat(preloads.choice()).containsExactly("good");
  }

  @Test
  void theirNumberTimeAndMemoryAreBounded() throws Exception {
    for (int i = 0; i < 40; i++) {
      runTwice("import m" + i);
      preloads.awaitCandidates().forEach(name -> accept(name, 1, 1));
      preloads.use(preloads.choice());
    }
    assertThat(preloads.imported()).hasSize(16);
    var slow = new Preloads(List.of(), true, ByteSize.mebibytes(32));
    slow.note(PlannedStart.of(ExecSpec.of("python3", "-c", "import a, b, c")));
    slow.note(PlannedStart.of(ExecSpec.of("python3", "-c", "import a, b, c")));
    assertThat(slow.awaitCandidates()).containsExactlyInAnyOrder("a", "b", "c");
    slow.tried("a", cost(Duration.ofMillis(600), 1));
    slow.tried("b", cost(Duration.ofMillis(600), 1));
    slow.tried("c", cost(Duration.ofMillis(1), 33));
    assertThat(slow.choice()).as("two take too long, one too much memory").hasSize(1);
  }

  private static Optional<Preloads.Cost> cost(Duration cpu, long mebibytes) {
    return Optional.of(new Preloads.Cost(cpu, ByteSize.mebibytes(mebibytes)));
  }

  /** What programs name is up to them. */
  @Test
  void theNamesThatAreRememberedAreBounded() throws Exception {
    runTwice("import kept");
    preloads.awaitCandidates().forEach(name -> accept(name, 1, 1));
    preloads.use(preloads.choice());
    for (int i = 0; i < 1000; i++) {
      runTwice("import x" + i);
      preloads.awaitCandidates().forEach(name -> preloads.tried(name, Optional.empty()));
    }
    assertThat(preloads.remembered()).isLessThanOrEqualTo(256);
    assertThat(preloads.choice()).containsExactly("kept");
  }

  @Test
  void onceModulesWereImportedAnInterpreterMayHaveReadAnyVariable() {
    assertThat(preloads.wasUsed()).isFalse();
    preloads.use(List.of("json"));
    preloads.use(List.of());
    assertThat(preloads.wasUsed()).isTrue();
  }
}
