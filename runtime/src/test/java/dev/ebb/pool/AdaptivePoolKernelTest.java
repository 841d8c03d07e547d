package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.backend.forkserver.ZygoteBackend;
import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.PoolState;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A pool without a setting: interpreters from their first use on, and modules that are used. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class AdaptivePoolKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP, Feature.CGROUPS);

  private Engine engine;
  private WarmPool pool;

  @BeforeEach
  void open() throws Exception {
    TestHost.require(Feature.ROOT);
    engine = Engine.open(host.home());
    pool = engine.openPool(PoolPolicy.ADAPTIVE, (_, _) -> {});
  }

  @AfterEach
  void close() {
    if (pool != null) {
      pool.close();
      engine.close();
    }
  }

  private void reopen(Duration idle) {
    pool.close();
    var changed = new PoolPolicy.Adaptation(idle, true);
    pool = engine.openPool(PoolPolicy.ADAPTIVE.withAdaptation(changed), (_, _) -> {});
  }

  private static void await(Callable<Boolean> condition) {
    Awaitility.await()
        .pollInSameThread()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .atMost(PATIENCE)
        .until(condition);
  }

  private PoolState.Kind kind(String interpreter) {
    return pool.state().kinds().stream()
        .filter(each -> each.interpreter().equals(interpreter))
        .findFirst()
        .orElseThrow();
  }

  private boolean hasZygote() {
    return engine.holdings().stream().anyMatch(held -> held.box().equals(ZygoteBackend.NAME));
  }

  private String python(String code) throws Exception {
    return python(code, Map.of());
  }

  /** Runs a program beside these files, in a box of the pool. */
  private String python(String code, Map<String, String> files) throws Exception {
    var spec = ExecSpec.of("python3", "-c", code);
    Optional<PoolItem> item = pool.take(BoxSpec.defaults(), PlannedStart.of(spec));
    Box box = item.map(PoolItem::box).orElseGet(() -> engine.create(BoxSpec.defaults()));
    for (var each : files.entrySet()) {
      byte[] bytes = each.getValue().getBytes(StandardCharsets.UTF_8);
      new BoxFiles(box).write(each.getKey(), 0644, new ByteArrayInputStream(bytes));
    }
    boolean isWarm = item.isPresent() && item.get().waitsFor(spec);
    Exec exec = isWarm ? item.get().begin() : engine.start(box, spec);
    ExitCause cause = exec.await().cause();
    assertThat(cause).as(Outputs.text(exec.stderr())).isEqualTo(new ExitCause.Exited(0));
    String output = Outputs.text(exec.stdout());
    assertThat(engine.release(box).isClean()).isTrue();
    return output;
  }

  @Test
  void aLanguageIsWarmFromItsFirstUseUntilItIsNotUsedForLong() throws Exception {
    reopen(Duration.ofSeconds(2));
    await(() -> kind("").size() == 1);
    assertThat(kind("python3")).matches(PoolState.Kind::asleep).matches(each -> each.size() == 0);
    assertThat(hasZygote()).isFalse();
    assertThat(python("print(1)")).as("started, in a warm box").isEqualTo("1\n");
    assertThat(kind("").hits()).isEqualTo(1);
    await(() -> kind("python3").size() > 0);
    assertThat(hasZygote()).isTrue();
    assertThat(pool.isSteady()).isFalse();
    assertThat(python("print(2)")).isEqualTo("2\n");
    assertThat(kind("python3").hits()).isEqualTo(1);
    assertThat(kind("node").asleep()).as("it was never used").isTrue();
    await(() -> kind("").size() == 0 && kind("python3").size() == 0 && !hasZygote());
    assertThat(pool.isSteady()).isTrue();
    assertThat(python("print(3)")).as("it wakes").isEqualTo("3\n");
    await(() -> kind("python3").size() > 0);
  }

  @Test
  void pressureTakesTheZygoteToo() throws Exception {
    python("print(1)");
    await(() -> kind("python3").size() > 0);
    assertThat(pool.makeWay()).isPositive();
    assertThat(hasZygote()).isFalse();
    assertThat(python("print(1)")).isEqualTo("1\n");
    assertThat(hasZygote()).as("for a while none is started").isFalse();
  }

  @Test
  void aModuleThatProgramsImportIsImportedAhead() throws Exception {
    String code = "import sys; before = 'json' in sys.modules; import json; print(before)";
    assertThat(python(code)).isEqualTo("False\n");
    assertThat(python(code)).isEqualTo("False\n");
    await(() -> pool.state().preloaded().contains("json") && kind("python3").size() > 0);
    assertThat(python(code)).isEqualTo("True\n");
    assertThat(python("import json; print(json.x)", Map.of("json.py", "x = 'mine'")))
        .as("a file of the program goes first")
        .isEqualTo("mine\n");
  }

  /** Of these only the last stays: what all programs get must be as good as new. */
  @Test
  void aModuleThatDoesMoreThanDefineIsNotImportedAhead() throws Exception {
    String mine = "import this, mine, nosuchmodule, csv, sys";
    for (int i = 0; i < 2; i++) {
      python("try:\n  " + mine + "\nexcept ImportError: pass", Map.of("mine.py", "x = 1"));
    }
    await(() -> pool.state().preloaded().contains("csv") && kind("python3").size() > 0);
    assertThat(pool.state().preloaded()).containsExactly("csv");
  }

  @Test
  void aProgramWithVariablesOfItsOwnGetsNoneThatModulesHaveRead() throws Exception {
    for (int i = 0; i < 2; i++) {
      python("import json");
    }
    await(() -> !pool.state().preloaded().isEmpty() && kind("python3").size() > 0);
    var spec = ExecSpec.of("python3", "-c", "1").withEnvironment(Map.of("MINE", "1"));
    Optional<PoolItem> item = pool.take(BoxSpec.defaults(), PlannedStart.of(spec));
    assertThat(item.filter(each -> each.waitsFor(spec))).isEmpty();
    item.ifPresent(each -> assertThat(engine.release(each.box()).isClean()).isTrue());
  }
}
