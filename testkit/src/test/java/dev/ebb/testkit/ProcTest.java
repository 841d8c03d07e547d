package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.ebb.oracle.Proc;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An entry that vanishes between open and read counts as absent, not as a failure. */
final class ProcTest {
  @TempDir Path directory;

  @Test
  void aDescriptorThatIsClosedWhileItIsLookedAtIsGone() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    FileChannel open = FileChannel.open(file);
    try (var info = FileChannel.open(Proc.SELF.resolve("fdinfo").resolve(numberOf(file)))) {
      open.close();
      var failed =
          catchThrowableOfType(IOException.class, () -> info.read(ByteBuffer.allocate(100)));
      assertThat(Proc.isGone(failed)).as(String.valueOf(failed)).isTrue();
    }
  }

  private static Path numberOf(Path file) throws IOException {
    for (Path fd : Proc.list(Proc.SELF.resolve("fd"))) {
      if (Proc.readLink(fd).equals(Optional.of(file.toString()))) {
        return fd.getFileName();
      }
    }
    throw new AssertionError(file + " is not open");
  }

  @Test
  void anotherFailureIsNoAbsence() {
    var failed = catchThrowableOfType(IOException.class, () -> Proc.read(directory));
    assertThat(Proc.isGone(failed)).as(String.valueOf(failed)).isFalse();
  }
}
