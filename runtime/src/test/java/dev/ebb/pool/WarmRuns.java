package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.exec.Stdin;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.PlannedStart;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;

/** Runs a command by a warm interpreter, and by a new one. */
final class WarmRuns implements AutoCloseable {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  final Engine engine;
  private final Interpreter interpreter;
  private final UnaryOperator<PoolPolicy> how;
  private WarmPool pool;

  /** The comparable parts of a run: everything but its time. */
  record Run(ExitCause cause, String stdout, String stderr) {}

  WarmRuns(Path home, Interpreter interpreter) {
    this(home, interpreter, UnaryOperator.identity());
  }

  /**
   * @param how changes what is usual
   */
  WarmRuns(Path home, Interpreter interpreter, UnaryOperator<PoolPolicy> how) {
    this.interpreter = interpreter;
    this.how = how;
    engine = Engine.open(home);
    pool = open(List.of());
  }

  private WarmPool open(List<String> preload) {
    var policy = new PoolPolicy(0, 0, PoolPolicy.DEFAULT_AGE, Map.of(interpreter, 1), preload);
    return engine.openPool(how.apply(policy), (_, _) -> {});
  }

  /** From now on with these imported. */
  void preload(List<String> modules) {
    pool.close();
    pool = open(modules);
  }

  @Override
  public void close() {
    pool.close();
    engine.close();
  }

  static ExecSpec command(String program, String option, String code, String... arguments) {
    var words = new ArrayList<>(List.of(program, option, code));
    words.addAll(List.of(arguments));
    return ExecSpec.of(words);
  }

  PoolItem warm(ExecSpec spec) throws InterruptedException {
    Awaitility.await()
        .pollInSameThread()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .atMost(PATIENCE)
        .until(() -> pool.state().kinds().getFirst().size() > 0);
    return take(spec);
  }

  /** Takes a box that waits for {@code spec}; it may have a warm interpreter or not. */
  PoolItem take(ExecSpec spec) throws InterruptedException {
    PoolItem item = pool.take(BoxSpec.defaults(), PlannedStart.of(spec)).orElseThrow();
    assertThat(item.waitsFor(spec)).isTrue();
    return item;
  }

  void release(PoolItem item) {
    assertThat(engine.release(item.box()).isClean()).isTrue();
  }

  Run run(Exec exec, Box box, String input) throws InterruptedException {
    if (exec.spec().takesInput()) {
      Stdin stdin = exec.stdin().orElseThrow();
      byte[] bytes = input.getBytes(StandardCharsets.UTF_8);
      stdin.write(bytes, 0, bytes.length);
      stdin.close();
    }
    ExecResult result = exec.await();
    var run = new Run(result.cause(), Outputs.text(exec.stdout()), Outputs.text(exec.stderr()));
    assertThat(engine.release(box).isClean()).isTrue();
    return run;
  }

  Run warmly(ExecSpec spec, String input) throws InterruptedException {
    PoolItem item = warm(spec);
    return run(item.begin(), item.box(), input);
  }

  Run coldly(ExecSpec spec, String input) throws InterruptedException {
    Box box = engine.create(BoxSpec.defaults());
    return run(engine.start(box, spec), box, input);
  }

  Run assertSame(ExecSpec spec, String input) throws InterruptedException {
    return assertSame(spec, input, UnaryOperator.identity());
  }

  /**
   * @param common reduces stderr to what both runs have in common
   */
  Run assertSame(ExecSpec spec, String input, UnaryOperator<String> common)
      throws InterruptedException {
    Run cold = coldly(spec, input);
    Run warm = warmly(spec, input);
    assertThat(new Run(warm.cause(), warm.stdout(), common.apply(warm.stderr())))
        .isEqualTo(new Run(cold.cause(), cold.stdout(), common.apply(cold.stderr())));
    return cold;
  }

  /** Compares runs of a command that finds these files beside it. */
  Run assertSameOfFiles(ExecSpec spec, Map<String, String> files) throws Exception {
    return assertSameOfFiles(spec, files, UnaryOperator.identity());
  }

  /**
   * @param common reduces stderr to what both runs have in common
   */
  Run assertSameOfFiles(ExecSpec spec, Map<String, String> files, UnaryOperator<String> common)
      throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    write(box, files);
    Run cold = run(engine.start(box, spec), box, "");
    PoolItem item = warm(spec);
    write(item.box(), files);
    Run warm = run(item.begin(), item.box(), "");
    assertThat(common(warm, common)).isEqualTo(common(cold, common));
    return cold;
  }

  /** Asserts that the content of a file, and the end of the program, are the same. */
  void assertSameIn(String file, ExecSpec spec) throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    String cold = leftIn(file, engine.start(box, spec), box);
    PoolItem item = warm(spec);
    assertThat(leftIn(file, item.begin(), item.box())).isEqualTo(cold).isNotEmpty();
  }

  private String leftIn(String file, Exec exec, Box box) throws Exception {
    ExitCause cause = exec.await().cause();
    try (var content = new BoxFiles(box).read(file, 0)) {
      return cause + " " + new String(content.readAllBytes(), StandardCharsets.UTF_8);
    } finally {
      assertThat(engine.release(box).isClean()).isTrue();
    }
  }

  private static void write(Box box, Map<String, String> files) throws Exception {
    for (var each : files.entrySet()) {
      byte[] bytes = each.getValue().getBytes(StandardCharsets.UTF_8);
      new BoxFiles(box).write(each.getKey(), 0644, new ByteArrayInputStream(bytes));
    }
  }

  /** But for where something lies in memory. */
  private static Run common(Run run, UnaryOperator<String> common) {
    return new Run(run.cause(), unplaced(run.stdout()), common.apply(unplaced(run.stderr())));
  }

  private static String unplaced(String text) {
    return text.replaceAll("0x[0-9a-f]+", "0x");
  }
}
