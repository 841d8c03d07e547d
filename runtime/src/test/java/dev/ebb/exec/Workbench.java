package dev.ebb.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.box.Insides;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.engine.Engine;
import dev.ebb.engine.RunResult;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Lends a test one engine, opened at first use, and closes it with all its boxes. */
final class Workbench implements BeforeEachCallback, AfterEachCallback {
  /** How long anything may take on a busy machine before a test gives up. */
  static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  private static final int CHUNK = 64 * 1024;

  private final TestHost host = TestHost.needing(Feature.BWRAP);
  private @Nullable Engine engine;

  @Override
  public void beforeEach(ExtensionContext context) throws IOException, KernelException {
    host.beforeEach(context);
  }

  /** No cgroup was ever busy when it should have been empty: the ladder did its work. */
  @Override
  public void afterEach(ExtensionContext context) {
    if (engine != null) {
      engine.close();
      assertThat(engine.leaks()).as("busy cgroups").isZero();
    }
  }

  Path home() throws IOException {
    return host.home();
  }

  Engine engine() throws IOException {
    if (engine == null) {
      engine = Engine.open(host.home());
    }
    return engine;
  }

  Box box() throws IOException {
    return box(Limits.defaults());
  }

  Box box(Limits limits) throws IOException {
    return engine().create(BoxSpec.defaults().withLimits(limits));
  }

  /** For tests that need cgroups. */
  static BoxCgroup cgroup(Box box) {
    TestHost.require(Feature.CGROUPS);
    return (BoxCgroup) Insides.enclosure(box);
  }

  /** Whether a command has a subreaper beside it, where no cgroup separates the execs. */
  boolean hasSubreapers() throws IOException {
    return engine().hierarchies().mode() == CgroupMode.NONE;
  }

  Exec start(Box box, ExecSpec spec) throws IOException {
    return engine().start(box, spec);
  }

  /** Runs a command to its end in a box that lives on. */
  ExecResult run(Box box, ExecSpec spec) throws IOException, InterruptedException {
    return await(start(box, spec));
  }

  /** Runs a command in a box of its own, and has the proof that nothing is left. */
  RunResult run(ExecSpec spec) throws IOException, InterruptedException {
    return run(Limits.defaults(), spec);
  }

  RunResult run(Limits limits, ExecSpec spec) throws IOException, InterruptedException {
    var run = engine().run(BoxSpec.defaults().withLimits(limits), spec);
    assertThat(run.certificate().isClean()).as(run.certificate().toString()).isTrue();
    return run;
  }

  static ExecSpec sh(String script) {
    return ExecSpec.of("/bin/sh", "-c", script);
  }

  static ExecSpec python(String program, String... arguments) {
    var command = new ArrayList<>(List.of("/usr/bin/python3", "-c", program));
    command.addAll(List.of(arguments));
    return ExecSpec.of(command);
  }

  static ExecResult await(Exec exec) throws InterruptedException {
    var result = exec.await(PATIENCE);
    assertThat(result).as("the result in time").isPresent();
    return result.orElseThrow();
  }

  /** Init counts whole milliseconds, and may take one that has begun for a whole one. */
  static Duration nearly(Duration duration) {
    return duration.minusMillis(1);
  }

  static ConditionFactory eventually() {
    return Awaitility.await()
        .pollInSameThread()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(2))
        .atMost(PATIENCE);
  }

  static void awaitOutput(Exec exec, String text) {
    eventually().until(() -> text(exec.stdout()).contains(text));
  }

  static byte[] bytes(OutputLog log) {
    var all = new ByteArrayOutputStream();
    byte[] chunk = new byte[CHUNK];
    // Reads only what is there now: a flood would never end.
    for (long size = log.size(); all.size() < size; ) {
      all.write(chunk, 0, log.read(all.size(), chunk));
    }
    return all.toByteArray();
  }

  static String text(OutputLog log) {
    return new String(bytes(log), StandardCharsets.UTF_8);
  }

  /** Nothing lives in the box but its init, and no exec has a cgroup any more. */
  static void assertIdle(Box box) throws KernelException {
    assertThat(box.footprint().pids()).as("processes beside init").hasSize(1);
    if (Insides.enclosure(box) instanceof BoxCgroup cgroup) {
      Cgroup all = cgroup.box();
      assertThat(all.bottomUp())
          .containsExactlyInAnyOrder(all.child("init"), all.child("work"), all);
    }
  }

  /** The box is as good as new: a command starts at once and ends by itself. */
  void assertUsable(Box box) throws IOException, InterruptedException, KernelException {
    Exec exec = start(box, sh("echo fine"));
    assertThat(await(exec).cause().code()).isZero();
    assertThat(text(exec.stdout())).isEqualTo("fine\n");
    assertIdle(box);
  }
}
