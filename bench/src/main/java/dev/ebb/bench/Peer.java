package dev.ebb.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A small process in C that does the same by hand, and times it; built by bench/run. */
final class Peer implements AutoCloseable {
  private final Process process;
  private final DataInputStream answers;

  private Peer(Process process) {
    this.process = process;
    answers = new DataInputStream(process.getInputStream());
  }

  /** Forks, executes {@code command}, whose first word is a path, and waits for it. */
  static Peer spawning(List<String> command) throws IOException {
    return start("spawner", command);
  }

  /**
   * Ends {@code command}, which tells by its first byte that it is all there, and whatever came of
   * it, in {@code cgroup}, which must not exist.
   */
  static Peer reaping(Path cgroup, List<String> command) throws IOException {
    var words = new ArrayList<>(List.of(cgroup.toString()));
    words.addAll(command);
    return start("reaper", words);
  }

  private static Peer start(String program, List<String> arguments) throws IOException {
    var words = new ArrayList<>(List.of(System.getProperty("ebb.peers") + "/" + program));
    words.addAll(arguments);
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
