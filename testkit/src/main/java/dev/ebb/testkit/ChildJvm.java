package dev.ebb.testkit;

import com.google.errorprone.annotations.MustBeClosed;
import dev.ebb.kernel.Deadline;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Another JVM with the classes and native access of this one, for tests that kill the process Ebb
 * is embedded in. Closing it ends it, and makes sure.
 */
public final class ChildJvm implements AutoCloseable {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));
  private static final String PATCH = "--patch-module=";
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final Process process;
  private final Path directory;

  private ChildJvm(Process process, Path directory) {
    this.process = process;
    this.directory = directory;
  }

  /** Starts {@code main} there, with no input. */
  @MustBeClosed
  public static ChildJvm start(Class<?> main, String... arguments) throws IOException {
    return startUnder(List.of(), main, arguments);
  }

  /** Starts a JVM with these options. */
  @MustBeClosed
  public static ChildJvm startWith(List<String> options, Class<?> main, String... arguments)
      throws IOException {
    return start(command(options, main, arguments));
  }

  /** Starts a JVM by {@code launcher}, which must end with the JVM and the JVM with it. */
  @MustBeClosed
  public static ChildJvm startUnder(List<String> launcher, Class<?> main, String... arguments)
      throws IOException {
    var command = new ArrayList<>(launcher);
    command.addAll(command(List.of(), main, arguments));
    return start(command);
  }

  @MustBeClosed
  private static ChildJvm start(List<String> command) throws IOException {
    // Files, not pipes: nothing that outlives the child can hold its reader up.
    Path directory = Files.createTempDirectory("child-jvm");
    var builder =
        new ProcessBuilder(command)
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectOutput(directory.resolve("stdout").toFile())
            .redirectError(directory.resolve("stderr").toFile());
    // They are among the arguments already.
    builder.environment().remove("JDK_JAVA_OPTIONS");
    return new ChildJvm(builder.start(), directory);
  }

  /**
   * On the class path: where modules are patched, as Maven does, the JVM leaves its own archive of
   * classes aside, and starts in four times the time.
   */
  private static List<String> command(List<String> options, Class<?> main, String... arguments) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    var classPath = new ArrayList<String>();
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (option.startsWith(PATCH)) {
        classPath.add(option.substring(option.indexOf('=', PATCH.length()) + 1));
      } else if (!isOfThisJvmOnly(option)) {
        command.add(option);
      }
    }
    Optional.ofNullable(System.getProperty("jdk.module.path")).ifPresent(classPath::add);
    classPath.add(System.getProperty("java.class.path"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(String.join(File.pathSeparator, classPath));
    command.addAll(options);
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return command;
  }

  /** An agent, such as a debugger's, or about modules. */
  private static boolean isOfThisJvmOnly(String option) {
    return option.startsWith("-agent")
        || option.startsWith("-javaagent")
        || option.startsWith("--");
  }

  public int pid() {
    return (int) process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** The complete lines it has printed so far. */
  public List<String> lines() throws IOException {
    String text = Files.readString(directory.resolve("stdout"));
    return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
  }

  /** Waits for the first line that starts so; fails if it ends without. */
  public String awaitLine(String start) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      // ORDER: check this before reading the lines, so that the last output of a dead JVM is read.
      boolean alive = process.isAlive();
      Optional<String> line = lines().stream().filter(each -> each.startsWith(start)).findFirst();
      if (line.isPresent()) {
        return line.get();
      }
      if (!alive || deadline.isOver()) {
        throw new AssertionError("no line starts with \"" + start + "\"; " + describe());
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  /** Sends SIGKILL, and waits until it is dead and reaped. */
  public void kill() throws IOException, InterruptedException {
    process.destroyForcibly();
    awaitExit();
  }

  /** Waits until it ends by itself, and returns its exit code, 128 + n for signal n. */
  public int awaitExit() throws IOException, InterruptedException {
    return awaitExit(PATIENCE);
  }

  /** Waits so long until it ends by itself, and returns its exit code. */
  public int awaitExit(Duration patience) throws IOException, InterruptedException {
    if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new AssertionError("still alive; " + describe());
    }
    return process.exitValue();
  }

  /** Returns what it printed so far, for a failed test. */
  public String describe() throws IOException {
    return "pid %d%s%nstdout:%n%s%nstderr:%n%s"
        .formatted(
            process.pid(), process.isAlive() ? "" : " is dead", text("stdout"), text("stderr"));
  }

  private String text(String stream) throws IOException {
    return Files.readString(directory.resolve(stream), StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
    boolean interrupted = false;
    Deadline deadline = Deadline.in(PATIENCE);
    while (process.isAlive() && !deadline.isOver()) {
      try {
        process.waitFor(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (process.isAlive()) {
      throw new IllegalStateException("cannot end; " + describe());
    }
    Directories.remove(directory);
  }
}
