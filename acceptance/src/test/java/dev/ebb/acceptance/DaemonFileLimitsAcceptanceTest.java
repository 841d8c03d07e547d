package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.Box;
import dev.ebb.client.BoxFiles;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.LeakChecked;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Files are no larger than the box and the server allow, and nothing is staged for a reader. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonFileLimitsAcceptanceTest {
  private static final int MIB = 1 << 20;

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess("--limits-file-size=2t");

  @RegisterExtension static final DaemonProcess CAPPED = new DaemonProcess("--limits-file-size=4m");

  private static void assertTooLarge(ThrowingCallable call) {
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.code()).isEqualTo("too-large"));
  }

  /** Returns the size of all files in a home. */
  private static long staged(Path home) throws IOException {
    try (var files = Files.walk(home)) {
      long sum = 0;
      for (Path each : files.filter(Files::isRegularFile).toList()) {
        sum += Files.size(each);
      }
      return sum;
    }
  }

  @Test
  void aFileThatIsPutObeysTheServersLimit() throws Exception {
    try (EbbClient client = CAPPED.client()) {
      Box box = client.boxes().create(BoxRequest.defaults());
      BoxFiles files = client.files(box.id());
      files.write("small", new byte[4 * MIB]);
      assertTooLarge(() -> files.write("large", new byte[4 * MIB + 1]));
      assertThat(files.list("/workspace")).hasSize(1);
      client.boxes().remove(box.id(), true);
    }
  }

  @Test
  void aSparseFileCountsByItsSize() throws Exception {
    try (EbbClient client = DAEMON.client()) {
      Box box = client.boxes().create(BoxRequest.defaults());
      var made =
          client
              .execs(box.id())
              .run(
                  ExecRequest.of("sh", "-c", "truncate -s 1T holes && tar -cSf holes.tar holes")
                      .withLimits(null, null, 2L << 40));
      assertThat(made.exec().exitCode()).as(made.stderr().text()).isZero();
      BoxFiles files = client.files(box.id());
      assertTooLarge(() -> files.read("holes").close());
      byte[] tar;
      try (InputStream content = files.read("holes.tar")) {
        tar = content.readAllBytes();
      }
      assertThat(tar).hasSizeLessThan(100_000);
      files.mkdir("there");
      assertTooLarge(() -> files.untar("there", new ByteArrayInputStream(tar)));
      client.boxes().remove(box.id(), true);
    }
  }

  @Test
  void nothingIsStagedForASlowReader() throws Exception {
    try (EbbClient client = DAEMON.client()) {
      Box box = client.boxes().create(BoxRequest.defaults());
      BoxFiles files = client.files(box.id());
      files.write("data", new byte[64 * MIB]);
      long before = staged(DAEMON.home());
      try (InputStream slow = files.read("data")) {
        assertThat(slow.read()).isZero();
        assertThat(staged(DAEMON.home()) - before).isLessThan(MIB);
        assertThat(slow.readAllBytes()).hasSize(64 * MIB - 1);
      }
      try (InputStream tar = files.tar("/workspace")) {
        assertThat(tar.read()).isNotNegative();
        assertThat(staged(DAEMON.home()) - before).isLessThan(MIB);
      }
      client.boxes().remove(box.id(), true);
    }
  }

  /**
   * An archive of a terabyte of holes in a small box ends when it is larger than the box can hold.
   */
  @Test
  @Tag("long")
  void anArchiveEndsWhereABoxCannotHoldMore() throws Exception {
    try (EbbClient client = DAEMON.client()) {
      var limits = new Limits(null, null, null, 64L * MIB);
      Box box = client.boxes().create(BoxRequest.defaults().withLimits(limits));
      client
          .execs(box.id())
          .run(ExecRequest.of("truncate", "-s", "1T", "holes").withLimits(null, null, 2L << 40));
      long most = 4L << 30;
      long seen = 0;
      byte[] piece = new byte[MIB];
      try (InputStream tar = client.files(box.id()).tar("/workspace")) {
        for (int n = tar.read(piece); n >= 0 && seen < most; n = tar.read(piece)) {
          seen += n;
        }
        assertThat(seen).as("bytes of an archive that was not cut").isLessThan(most);
      } catch (IOException e) {
        // The archive is cut off, so that no client takes it for a complete one.
        assertThat(seen).isBetween(1L << 30, most);
      }
      client.boxes().remove(box.id(), true);
    }
  }
}
