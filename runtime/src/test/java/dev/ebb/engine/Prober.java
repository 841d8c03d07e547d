package dev.ebb.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Makes the same attempt (see probe.py) in a box and where nothing stops it, which shows that the
 * test is able to fail.
 */
final class Prober implements BeforeEachCallback, AfterEachCallback {
  private static final String PYTHON = "/usr/bin/python3";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int NOBODY = 54_321;

  /** The parts of a box, without its precautions. */
  private static final List<String> PLAIN =
      List.of(
          "bwrap --unshare-user --unshare-pid --uid 1000 --gid 1000 --ro-bind /usr /usr",
          "--symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64",
          "--proc /proc --dev /dev --tmpfs /tmp --dir /etc --dir /workspace");

  private final TestHost host = TestHost.needing(Feature.BWRAP);
  private @Nullable Engine engine;

  @Override
  public void beforeEach(ExtensionContext context) throws IOException, KernelException {
    host.beforeEach(context);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (engine != null) {
      engine.close();
    }
    // A plain bwrap ends before its child does, which is ours then.
    Awaitility.await().pollInSameThread().until(Prober::hasNoOrphans);
  }

  private static boolean hasNoOrphans() throws IOException, KernelException {
    TestHost.reapOrphans();
    long us = ProcessHandle.current().pid();
    return Files.readString(Path.of("/proc/self/task/" + us + "/children")).isBlank();
  }

  Engine engine() throws IOException {
    if (engine == null) {
      engine = Engine.open(host.home());
    }
    return engine;
  }

  Path home() throws IOException {
    return host.home();
  }

  /** Makes one attempt in a box of its own. */
  String inBox(String... attempt) throws IOException, InterruptedException {
    return inBox(BoxSpec.defaults(), attempt);
  }

  String inBox(BoxSpec spec, String... attempt) throws IOException, InterruptedException {
    return run(spec, probe(attempt));
  }

  /** A command that succeeds in a box of its own; what it printed. */
  String run(BoxSpec spec, ExecSpec command) throws IOException, InterruptedException {
    var run = engine().run(spec, command);
    assertThat(run.cause().code()).as(run.stderr().text()).isZero();
    assertThat(run.certificate().isClean()).as(run.certificate().toString()).isTrue();
    return run.stdout().text().strip();
  }

  /** Makes one attempt in a box that lives on. */
  String in(Box box, String... attempt) throws IOException, InterruptedException {
    try (Exec exec = engine().start(box, probe(attempt))) {
      var result = exec.await(PATIENCE).orElseThrow();
      assertThat(result.cause().code()).as(CapturedOutput.of(exec.stderr()).text()).isZero();
      return CapturedOutput.of(exec.stdout()).text().strip();
    }
  }

  /**
   * Makes one attempt on the host, as root: the control for attempts that other users cannot make.
   */
  static String onHostAsRoot(String... attempt) throws IOException, InterruptedException {
    TestHost.require(Feature.ROOT);
    return onHost(attempt);
  }

  /** One attempt on the host. */
  static String onHost(String... attempt) throws IOException, InterruptedException {
    return run(python("probe.py", attempt));
  }

  /** Makes one attempt on the host, as a user without rights; as this user, if it has none. */
  static String onHostAsNobody(String... attempt) throws IOException, InterruptedException {
    return Feature.ROOT.isPresent() ? onHostAs(NOBODY, attempt) : onHost(attempt);
  }

  static String onHostAs(int uid, String... attempt) throws IOException, InterruptedException {
    var words = new ArrayList<String>(List.of("setpriv", "--clear-groups"));
    words.addAll(List.of("--reuid", "" + uid, "--regid", "" + uid));
    words.addAll(python("probe.py", attempt));
    return run(words);
  }

  /** Makes one attempt in a sandbox that bwrap alone makes, with more options. */
  static String inPlainBwrap(List<String> options, String... attempt)
      throws IOException, InterruptedException {
    return run(plainBwrap(options, attempt));
  }

  static List<String> plainBwrap(List<String> options, String... attempt) {
    var words = PLAIN.stream().flatMap(line -> List.of(line.split(" ")).stream());
    var all = words.collect(Collectors.toCollection(ArrayList::new));
    all.addAll(options);
    all.addAll(python("probe.py", attempt));
    return all;
  }

  static ExecSpec probe(String... attempt) {
    return ExecSpec.of(python("probe.py", attempt));
  }

  static ExecSpec sh(String script) {
    return ExecSpec.of("/bin/sh", "-c", script);
  }

  /** A script of the test resources as a command line: it needs no file in a box. */
  static List<String> python(String script, String... arguments) {
    var words = new ArrayList<>(List.of(PYTHON, "-I", "-c", resource(script)));
    words.addAll(List.of(arguments));
    return words;
  }

  static String resource(String name) {
    try (InputStream stream = Prober.class.getResourceAsStream(name)) {
      return new String(assertThat(stream).isNotNull().actual().readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** Ends a server of the host, which runs until its input ends. */
  static void end(Process server) throws IOException {
    server.getOutputStream().close();
    try {
      assertThat(server.waitFor()).isZero();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Runs a command on the host and gives what it printed. */
  static String run(List<String> words) throws IOException, InterruptedException {
    return run(words, Map.of());
  }

  static String run(List<String> words, Map<String, String> environment)
      throws IOException, InterruptedException {
    var builder = new ProcessBuilder(words);
    builder.environment().putAll(environment);
    Process process = builder.redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }
}
