package dev.ebb.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A small process that forks, executes and waits: {@code spawner.c}, built by bench/run. */
final class Spawner implements AutoCloseable {
  private final Process process;
  private final DataInputStream answers;

  private Spawner(Process process) {
    this.process = process;
    answers = new DataInputStream(process.getInputStream());
  }

  /** Ready to run {@code command}, whose first word is a path. */
  static Spawner of(List<String> command) throws IOException {
    var words = new ArrayList<>(List.of(Path.of(System.getProperty("ebb.spawner")).toString()));
    words.addAll(command);
    return new Spawner(
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
