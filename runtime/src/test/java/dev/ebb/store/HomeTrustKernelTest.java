package dev.ebb.store;

import static java.nio.file.attribute.PosixFilePermissions.fromString;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A home holds what is executed and removed as us, so it must be ours alone. */
@Tag("kernel")
@LeakChecked
final class HomeTrustKernelTest {
  private static final int SOMEBODY = 12_345;

  @RegisterExtension final TestHost host = TestHost.needing();
  @TempDir private Path temporary;

  @Test
  void aHomeThatAnotherUserMadeIsRefused() throws IOException, KernelException {
    TestHost.require(Feature.ROOT);
    Path home = Files.createDirectory(temporary.resolve("home"));
    Home.open(home);
    Filesystem.chown(home, SOMEBODY, SOMEBODY);
    assertThatThrownBy(() -> Home.open(home))
        .hasMessageContaining("others can change it (uid 12345");
  }

  @Test
  void aHomeThatOthersCanWriteIsRefused() throws IOException {
    Path home = Files.createDirectory(temporary.resolve("home"));
    Files.setPosixFilePermissions(home, fromString("rwxrwx---"));
    assertThatThrownBy(() -> Home.open(home)).hasMessageContaining("mode 770");
  }

  @Test
  void aLinkToAHomeIsFollowedOnce() throws IOException, KernelException {
    Path home = Files.createDirectory(temporary.resolve("home"));
    Path link = Files.createSymbolicLink(temporary.resolve("link"), home);
    Files.setPosixFilePermissions(home, fromString("rwxr-xr-x"));
    assertThat(Home.open(link).path()).isEqualTo(home.toRealPath());
  }
}
