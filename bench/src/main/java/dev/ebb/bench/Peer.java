package dev.ebb.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A small process in C that does the same work without Ebb, and times it; built by bench/run. */
final class Peer implements AutoCloseable {
  private final Process process;
  private final DataInputStream answers;

  private Peer(Process process) {
    this.process = process;
    answers = new DataInputStream(process.getInputStream());
  }

  /** Forks, executes {@code command}, which begins with a path, and waits for it. */
  static Peer spawning(List<String> command) throws IOException {
    return start("spawner", command);
  }

  /** Like {@link #spawning}, with this environment, which is empty otherwise. */
  static Peer spawning(Map<String, String> environment, List<String> command) throws IOException {
    var words = new ArrayList<>(List.of(program("spawner"), "--environment"));
    words.addAll(command);
    var builder = new ProcessBuilder(words);
    builder.environment().putAll(environment);
    return new Peer(builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /**
   * Like {@link #spawning}, with cgroups of version 2 hidden: some programs refuse them beside
   * version 1.
   */
  static Peer withOldCgroups(List<String> command) throws IOException {
    String hide = "! mountpoint -q \"$0\" || umount -l \"$0\"; exec \"$@\"";
    var words = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", hide));
    words.add("/sys/fs/cgroup/unified");
    words.add(program("spawner"));
    words.addAll(command);
    return start(words);
  }

  /**
   * Ends {@code command}, which writes its first byte when all its processes run, with all its
   * descendants, in nothing but {@code cgroup}, which must not exist yet.
   */
  static Peer reaping(Path cgroup, List<String> command) throws IOException {
    return start("reaper", words(List.of(), List.of(cgroup), command));
  }

  /**
   * Ends a command with the resources of a box: a pid 1 in namespaces of its own, as many cgroups
   * of version 2, and one in each hierarchy of version 1.
   *
   * @param cgroups paths that must not exist yet, that of version 2 first
   */
  static Peer reapingBox(List<Path> cgroups, List<String> command) throws IOException {
    return start("reaper", words(List.of("--box"), cgroups, command));
  }

  private static List<String> words(
      List<String> options, List<Path> cgroups, List<String> command) {
    var words = new ArrayList<>(options);
    cgroups.forEach(cgroup -> words.add(cgroup.toString()));
    words.add("--");
    words.addAll(command);
    return words;
  }

  private static Peer start(String program, List<String> arguments) throws IOException {
    var words = new ArrayList<>(List.of(program(program)));
    words.addAll(arguments);
    return start(words);
  }

  private static String program(String name) {
    return System.getProperty("ebb.peers") + "/" + name;
  }

  private static Peer start(List<String> words) throws IOException {
    return new Peer(
        new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /** Runs it once; how many nanoseconds it took, as the small process saw it. */
  long nanos() throws IOException {
    process.getOutputStream().write(1);
    process.getOutputStream().flush();
    return Long.reverseBytes(answers.readLong());
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    process.onExit().join();
  }
}
