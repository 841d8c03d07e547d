package dev.ebb.store;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LogDirectoryTest {
  private static final int ROUNDS = 100;

  /** Fewer than a removal tries. */
  private static final int WRITES = 20;

  @TempDir Path parent;

  @Test
  void itGoesThoughItIsWrittenToMeanwhile() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      var logs = new LogDirectory(parent.resolve("box" + i));
      logs.create();
      Files.writeString(logs.log(1, "stdout"), "words");
      var writing = new FutureTask<>(() -> write(logs.recordFile()));
      Thread.ofPlatform().name("writer").start(writing);
      logs.remove();
      writing.get();
      logs.remove();
      assertThat(logs.path()).doesNotExist();
    }
  }

  /** While there is a directory to write to. */
  private static boolean write(Path record) throws IOException {
    for (int i = 0; i < WRITES; i++) {
      try {
        Files.writeString(record, "words\n", CREATE, APPEND);
      } catch (NoSuchFileException e) {
        return false;
      }
    }
    return true;
  }
}
