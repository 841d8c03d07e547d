package dev.ebb.bench;

import dev.ebb.client.EbbClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;

/** The packaged {@code ebb serve}, as a process of its own, with a home of its own. */
final class ServedDaemon implements AutoCloseable {
  /** Settings for a daemon that copies python, with numpy imported in advance. */
  static final Map<String, String> WITH_NUMPY =
      Map.of(
          "EBB_POOL", "fixed",
          "EBB_POOL_MAX", "0",
          "EBB_POOL_INTERPRETERS", "python3:8",
          "EBB_POOL_PRELOAD", "numpy",
          "EBB_POOL_ZYGOTE", "true");

  private final Path home;
  private final Process process;

  private ServedDaemon(Path home, Process process) {
    this.home = home;
    this.process = process;
  }

  /** Returns when it serves. */
  static ServedDaemon start() throws IOException {
    return start("");
  }

  /**
   * Starts a daemon with more options for its JVM.
   *
   * @param options in the format of JDK_JAVA_OPTIONS
   */
  static ServedDaemon start(String options) throws IOException {
    return start(Files.createTempDirectory("ebb-bench"), options);
  }

  /** Starts a daemon with settings from environment variables. */
  static ServedDaemon start(Map<String, String> settings) throws IOException {
    return start(Files.createTempDirectory("ebb-bench"), "", settings);
  }

  /** Starts a daemon on a home that an earlier daemon may have used. */
  static ServedDaemon start(Path home, String options) throws IOException {
    // The forkserver must not make boxes in advance: the measurement includes the making.
    return start(home, options, Map.of("EBB_POOL", "off"));
  }

  private static ServedDaemon start(Path home, String options, Map<String, String> settings)
      throws IOException {
    var builder = new ProcessBuilder(System.getProperty("ebb.root") + "/ebb", "serve");
    builder.environment().putAll(settings);
    builder.environment().put("EBB_HOME", home.toString());
    builder.environment().put("EBB_BUILD", "never");
    builder.environment().put("JDK_JAVA_OPTIONS", options);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Process process = builder.start();
    BufferedReader output = process.inputReader();
    if (output.readLine() == null) {
      throw new IOException("the daemon did not come up");
    }
    return new ServedDaemon(home, process);
  }

  /** Starts a daemon as it is by default, without any setting. */
  static ServedDaemon startDefault() throws IOException {
    return start(Map.of());
  }

  Path home() {
    return home;
  }

  Path socket() {
    return home.resolve("ebb.sock");
  }

  /** Returns the pid of the first of its processes, an ancestor of all others. */
  long firstPid() {
    return process.pid();
  }

  /** Returns the pid of the daemon itself: the process that was started is its supervisor. */
  long pid() throws IOException {
    return Long.parseLong(Files.readString(home.resolve("daemon")).strip());
  }

  /**
   * Returns the pid of the forkserver: its processor time would count only at its end, which is not
   * observed here.
   */
  long forkserver() throws IOException {
    return ProcessHandle.of(pid()).stream()
        .flatMap(ProcessHandle::children)
        .map(ProcessHandle::pid)
        .filter(ServedDaemon::isForkserver)
        .findFirst()
        .orElseThrow();
  }

  private static boolean isForkserver(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/comm")).strip().equals("ebb-forkserver");
    } catch (IOException e) {
      return false;
    }
  }

  EbbClient connect() throws IOException {
    return EbbClient.connect(socket());
  }

  /** Ends it; its home stays. */
  void stop() {
    process.destroy();
    process.onExit().join();
  }

  @Override
  public void close() throws IOException {
    stop();
    delete(home);
  }

  static void delete(Path home) throws IOException {
    try (var files = Files.walk(home)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
