package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class TestHostTest {
  private static Path last = Path.of("/");

  @RegisterExtension final TestHost host = TestHost.needing();

  @Test
  void aHomeIsFreshShortAndForItsOwnerOnly() throws Exception {
    last = host.home();
    assertThat(last).isEmptyDirectory().isEqualTo(host.home());
    assertThat(last.toString()).hasSizeLessThan(20);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(last)))
        .isEqualTo("rwx------");
    assertThat(host.newHome()).isNotEqualTo(last);
    Files.createDirectories(last.resolve("deep/er"));
  }

  @AfterAll
  static void isRemovedWithAllInIt() {
    assertThat(last).doesNotExist();
    assertThat(TestHost.homes()).isEmpty();
  }

  @Test
  void aDeadInstanceInAHomeThatWeDidNotLendIsTheirs() throws Exception {
    Files.createDirectories(host.home().resolve("instances/ebb-ours"));
    Path theirs = Path.of("/tmp/ebb-theirs-" + ProcessHandle.current().pid());
    Files.createDirectories(theirs.resolve("instances/ebb-theirs"));
    try {
      assertThat(TestHost.isNeighboursInstance("ebb-ours")).isFalse();
      assertThat(TestHost.isNeighboursInstance("ebb-theirs")).isTrue();
    } finally {
      Directories.remove(theirs);
    }
  }

  @Test
  void theReasonForSkippingSaysWhatIsLacking() {
    assertThat(Feature.ROOT.lack()).isEqualTo("host lacks root");
  }

  @Test
  void theRootHoldsTheFrontDoors() {
    assertThat(TestHost.root().resolve("testkit")).isDirectory();
  }
}
