package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesystemTest {
  private final Scope scope = new Scope();
  @TempDir Path directory;

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  @Test
  void aDirectoryIsMadeWithItsModeAndRemoved() throws KernelException, IOException {
    Path path = directory.resolve("made");
    Filesystem.mkdir(path, 0700);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
        .isEqualTo("rwx------");
    assertThatThrownBy(() -> Filesystem.mkdir(path, 0700))
        .hasMessage("cannot make directory " + path + ": EEXIST");
    Filesystem.rmdir(path);
    assertThatThrownBy(() -> Filesystem.rmdir(path))
        .hasMessage("cannot remove directory " + path + ": ENOENT");
  }

  @Test
  void anotherFileAtThePathHasAnotherIdentityEvenWithTheInodeOfTheFirst() throws Exception {
    Path path = directory.resolve("file");
    assertThat(Filesystem.identity(path)).isEmpty();
    Files.writeString(path, "first");
    var first = Filesystem.identity(path);
    Files.writeString(path, "changed");
    assertThat(Filesystem.identity(path)).isEqualTo(first);
    Files.delete(path);
    Files.writeString(path, "second");
    assertThat(Filesystem.identity(path)).isNotEmpty().isNotEqualTo(first);
  }

  @Test
  void aLinkHasTheIdentityOfTheLinkAndADirectoryItsOwnWhateverIsInIt() throws Exception {
    Path link = directory.resolve("link");
    Files.createSymbolicLink(link, Path.of("absent"));
    var first = Filesystem.identity(link);
    Files.delete(link);
    Files.createSymbolicLink(link, Path.of("absent"));
    assertThat(Filesystem.identity(link)).isNotEmpty().isNotEqualTo(first);
    var before = Filesystem.identity(directory);
    Files.createFile(directory.resolve("more"));
    assertThat(Filesystem.identity(directory)).isEqualTo(before);
  }

  @Test
  void aLongFileIsReadToItsEnd() throws Exception {
    String text = "0123456789\n".repeat(1000);
    Path file = Files.writeString(directory.resolve("long"), text);
    assertThat(Filesystem.readCgroupFile(file)).isEqualTo(text);
    assertThat(Filesystem.readCgroupFile(Files.writeString(file, "short"))).isEqualTo("short");
    assertThat(Filesystem.readCgroupFile(Files.writeString(file, ""))).isEmpty();
  }

  @Test
  void removingReportsWhatIsInTheWay() throws KernelException, IOException {
    Path parent = directory.resolve("parent");
    Filesystem.mkdir(parent, 0700);
    Path file = Files.createFile(parent.resolve("file"));
    assertThatThrownBy(() -> Filesystem.rmdir(parent)).hasMessageEndingWith("ENOTEMPTY");
    assertThatThrownBy(() -> Filesystem.rmdir(file)).hasMessageEndingWith("ENOTDIR");
    assertThatThrownBy(() -> Filesystem.unlink(parent)).hasMessageEndingWith("EISDIR");
    Filesystem.unlink(file);
    assertThatThrownBy(() -> Filesystem.unlink(file))
        .hasMessage("cannot remove " + file + ": ENOENT");
    Filesystem.rmdir(parent);
  }

  @Test
  void whatIsAbsentCanBeRemovedButWhatIsInTheWayStays() throws KernelException, IOException {
    Path parent = directory.resolve("parent");
    assertThat(Filesystem.rmdirIfPresent(parent)).isFalse();
    Filesystem.mkdir(parent, 0700);
    Path file = parent.resolve("file");
    Filesystem.unlinkIfPresent(file);
    Files.createFile(file);
    assertThatThrownBy(() -> Filesystem.rmdirIfPresent(parent)).hasMessageEndingWith("ENOTEMPTY");
    Filesystem.unlinkIfPresent(file);
    assertThat(Filesystem.rmdirIfPresent(parent)).isTrue();
    assertThat(directory).isEmptyDirectory();
  }

  @Test
  void directoriesAreDistinguishedFromFilesAndLinks() throws KernelException, IOException {
    assertThat(Filesystem.directories(directory)).isEmpty();
    var made = new ArrayList<Path>();
    for (int i = 0; i < 500; i++) {
      made.add(Files.createDirectory(directory.resolve("a-directory-with-a-name-" + i)));
    }
    Files.createFile(directory.resolve("file"));
    Files.createSymbolicLink(directory.resolve("link"), made.getFirst());
    Path below = Files.createDirectory(made.getFirst().resolve("below"));
    assertThat(Filesystem.directories(made.getFirst())).containsExactly(below);
    assertThat(Filesystem.directories(below)).isEmpty();
    assertThat(Filesystem.directories(directory)).containsExactlyInAnyOrderElementsOf(made);
    assertThatThrownBy(() -> Filesystem.directories(directory.resolve("absent")))
        .hasMessageEndingWith("ENOENT");
  }

  @Test
  void chownDoesNotFollowALink() throws KernelException, IOException {
    Assumptions.assumeTrue(Self.uid() == 0, "host lacks root");
    Path file = Files.createFile(directory.resolve("file"));
    Path link = Files.createSymbolicLink(directory.resolve("link"), file);
    Filesystem.chown(link, 12345, 54321);
    assertThat(Files.getAttribute(file, "unix:uid")).isEqualTo(0);
    Filesystem.chown(file, 12345, 54321);
    assertThat(Files.getAttribute(file, "unix:uid")).isEqualTo(12345);
    assertThat(Files.getAttribute(file, "unix:gid")).isEqualTo(54321);
  }

  @Test
  void truncateSetsTheSize() throws KernelException, IOException {
    Path file = Files.writeString(directory.resolve("file"), "12345");
    Filesystem.truncate(Fd.open(scope, file, Fd.Flag.WRITE), 2);
    assertThat(file).hasContent("12");
  }

  @Test
  void aSysctlIsReadWhole() throws KernelException {
    assertThat(Filesystem.read(Path.of("/proc/sys/kernel/pid_max"))).matches("[0-9]{4,}\n");
  }

  @Test
  void aFileLongerThanOneReadIsReadWhole() throws KernelException, IOException {
    byte[] bytes = new byte[10_000];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }
    Path file = Files.write(directory.resolve("file"), bytes);
    assertThat(Filesystem.read(file).getBytes(StandardCharsets.ISO_8859_1)).isEqualTo(bytes);
  }

  @Test
  void whatCannotBeReadIsAnError() {
    assertThatThrownBy(() -> Filesystem.read(directory)).hasMessageEndingWith("EISDIR");
    assertThatThrownBy(() -> Filesystem.read(directory.resolve("absent")))
        .hasMessageEndingWith("ENOENT");
  }

  @Test
  void aLockExcludesEveryOtherOpenOfTheFileUntilItsOwnIsClosed() throws KernelException {
    Path file = directory.resolve("lock");
    Fd first = Fd.open(scope, file, Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
    Fd second = Fd.open(scope, file, Fd.Flag.READ_WRITE);
    assertThat(Filesystem.tryLock(first)).isTrue();
    assertThat(Filesystem.tryLock(first)).isTrue();
    assertThat(Filesystem.tryLock(second)).isFalse();
    scope.release(first);
    assertThat(Filesystem.tryLock(second)).isTrue();
  }

  @Test
  void lockWaitsUntilTheHolderIsGone() throws Exception {
    Path file = directory.resolve("lock");
    Fd holder = Fd.open(scope, file, Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
    Filesystem.lock(holder);
    Fd other = Fd.open(scope, file, Fd.Flag.READ_WRITE);
    var taken = new CompletableFuture<Boolean>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    Filesystem.lock(other);
                    taken.complete(true);
                  } catch (KernelException e) {
                    taken.completeExceptionally(e);
                  }
                });
    Awaitility.await().until(() -> Filesystem.read(Path.of("/proc/locks")).contains("-> FLOCK"));
    assertThat(taken).isNotDone();
    scope.release(holder);
    assertThat(taken.get(10, TimeUnit.SECONDS)).isTrue();
    assertThat(waiter.join(Duration.ofSeconds(10))).isTrue();
  }
}
