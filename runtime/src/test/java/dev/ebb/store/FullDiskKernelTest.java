package dev.ebb.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A journal on a disk with room for a part of a line. */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class FullDiskKernelTest {
  private static final int PAGE = 4096;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT);

  @TempDir private Path directory;
  private Path disk;

  private static void run(String... command) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  @BeforeEach
  void mount() throws IOException, InterruptedException {
    disk = Files.createDirectory(directory.resolve("disk"));
    run("mount", "-t", "tmpfs", "-o", "size=" + PAGE, "ebb-disk", disk.toString());
  }

  @AfterEach
  void unmount() throws IOException, InterruptedException {
    run("umount", disk.toString());
  }

  @Test
  void aLineThatIsWrittenInPartIsReportedAndSkipped() throws Exception {
    var journal = new FileJournal(disk.resolve("record"));
    journal.append(JournalEntry.about("first"));
    String rest = "x".repeat(PAGE);
    assertThatThrownBy(() -> journal.append(JournalEntry.about("second").with("much", rest)))
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.is(Errno.ENOSPC)).isTrue());
    assertThat(Files.size(journal.path())).as("a part is there").isEqualTo(PAGE);
    assertThat(journal.read()).extracting(JournalEntry::about).containsExactly("first");
  }
}
