package dev.ebb.engine;

import static dev.ebb.engine.Prober.sh;
import static java.nio.file.attribute.PosixFilePermissions.fromString;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts of the host that a box is shown, and no others. */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class MountKernelTest {
  private static final int ALICE = 12_345;
  private static final int BOB = 23_456;

  @RegisterExtension final Prober prober = new Prober();

  /** On this way a box finds it; 0700 and ours, so that it is found by no other. */
  @TempDir private Path temporary;

  private Path source;
  private Path secret;

  @BeforeEach
  void layOut() throws IOException, KernelException {
    source = Files.createDirectory(temporary.resolve("source"));
    Files.setPosixFilePermissions(source, fromString("rwx------"));
    Files.writeString(source.resolve("given"), "a word\n");
    if (Feature.ROOT.isPresent()) {
      Filesystem.chown(source.resolve("given"), ALICE, ALICE);
      Filesystem.chown(source, ALICE, ALICE);
    }
    secret = Files.writeString(temporary.resolve("secret"), "not for the box\n");
    Files.setPosixFilePermissions(secret, fromString("rw-------"));
  }

  private BoxSpec mounted(boolean readOnly) {
    return BoxSpec.defaults().withMount(new Mount(source, "/mnt", readOnly));
  }

  // -------------------------------------------------------------------- mounts

  @Test
  void aMountShowsAPrivateDirectoryAndNothingAroundIt() throws IOException, InterruptedException {
    assertThat(prober.inBox(mounted(true), "read", "/mnt/given")).isEqualTo("a word");
    assertThat(prober.inBox(mounted(true), "read", "/mnt/../secret")).isEqualTo("ENOENT");
    assertThat(prober.inBox(mounted(true), "read", secret.toString())).isEqualTo("ENOENT");
    assertThat(prober.inBox("read", source.resolve("given").toString())).isEqualTo("ENOENT");
  }

  @Test
  void aReadOnlyMountCannotBeWritten() throws IOException, InterruptedException {
    assertThat(prober.inBox(mounted(true), "write", "/mnt/new")).isEqualTo("EROFS");
    assertThat(prober.inBox(mounted(true), "write", "/mnt/given")).isEqualTo("EROFS");
    assertThat(prober.inBox(mounted(false), "write", "/mnt/new")).isEqualTo("yes");
    assertThat(source.resolve("new")).hasContent("x");
  }

  @Test
  void aFileThatABoxWritesBelongsToTheOwnerOfTheMount() throws IOException, InterruptedException {
    prober.run(mounted(false), sh("mkdir -p /mnt/a/b; echo text >/mnt/a/b/file; rm /mnt/given"));
    Path file = source.resolve("a/b/file");
    assertThat(file).hasContent("text\n");
    for (String owner : List.of("unix:uid", "unix:gid")) {
      assertThat(Files.getAttribute(file, owner)).isEqualTo(Files.getAttribute(source, owner));
    }
    assertThat(source.resolve("given")).doesNotExist();
  }

  @Test
  void filesOfOthersInAMountAreNotTheBoxs()
      throws IOException, InterruptedException, KernelException {
    TestHost.require(Feature.ROOT);
    Path file = Files.copy(secret, source.resolve("of-bob"));
    Files.setPosixFilePermissions(file, fromString("rw-------"));
    Filesystem.chown(file, BOB, BOB);
    assertThat(prober.inBox(mounted(false), "read", "/mnt/of-bob")).isEqualTo("EACCES");
    Filesystem.chown(file, ALICE, ALICE);
    assertThat(prober.inBox(mounted(false), "read", "/mnt/of-bob")).isEqualTo("not for the box");
  }

  @Test
  void aBoxLeavesNoSetUserIdFileInAMount() throws IOException, InterruptedException {
    assertThat(prober.inBox(mounted(false), "set_id", "/mnt")).isEmpty();
    try (var files = Files.walk(source)) {
      assertThat(files.filter(file -> (mode(file) & 06000) != 0)).isEmpty();
    }
    // A set-user-id file of the owner's, and as good as all ways to it.
    var bind = List.of("--bind", temporary.toString(), "/tmp/all");
    assertThat(Prober.inPlainBwrap(bind, "set_id", "/tmp/all").split(" "))
        .contains("chmod", "fchmod", "create", "openat2");
    assertThat(mode(temporary.resolve("create")) & 06000).isEqualTo(04000);
  }

  private static int mode(Path file) {
    try {
      return (int) Files.getAttribute(file, "unix:mode");
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void aDeviceInAMountIsDead() throws IOException, InterruptedException {
    assertThat(prober.inBox(mounted(false), "make_device", "/mnt/mine")).isEqualTo("EPERM");
    Path device = source.resolve("device");
    assertThat(Prober.onHostAsRoot("make_device", device.toString())).isEqualTo("yes");
    assertThat(Prober.onHost("write", device.toString())).isEqualTo("yes");
    assertThat(prober.inBox(mounted(false), "write", "/mnt/device")).isEqualTo("EACCES");
  }

  @Test
  void everyMountIgnoresSetUserIdAndDevices() throws IOException, InterruptedException {
    var spec = mounted(false).withPackages(source);
    assertThat(prober.inBox(spec, "setuid_programs")).isEqualTo("0");
    assertThat(prober.run(spec, sh("grep -E ' (/mnt|/packages/0) ' /proc/self/mountinfo")).lines())
        .hasSize(2)
        .allMatch(line -> line.contains("nosuid,nodev"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a\nline",
        "co:lon",
        "back\\slash",
        " blank ",
        "--ro-bind",
        "\\040",
        "tab\there",
        "öß"
      })
  void oddNamesAreNamesLikeAnyOther(String name) throws IOException, InterruptedException {
    Path odd = Files.createDirectory(temporary.resolve(name));
    Files.writeString(odd.resolve("file"), "found");
    var spec = BoxSpec.defaults().withMount(new Mount(odd, "/mnt/" + name, true));
    assertThat(prober.inBox(spec, "read", "/mnt/" + name + "/file")).isEqualTo("found");
  }

  @Test
  void aHundredMountsAreFineAndFarTooManyAreRefused() throws IOException, InterruptedException {
    var spec = BoxSpec.defaults();
    for (int i = 0; i < 100; i++) {
      spec = spec.withMount(new Mount(source, "/mnt/" + i, true));
    }
    assertThat(prober.run(spec, sh("cat /mnt/99/given; ls /mnt | wc -l"))).isEqualTo("a word\n100");
    for (int i = 100; i < 300; i++) {
      spec = spec.withMount(new Mount(source, "/mnt/" + i, true));
    }
    var tooMany = spec;
    assertThatThrownBy(() -> prober.engine().create(tooMany))
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("E2BIG");
  }

  @Test
  void aMountInAMountNeedsAPlaceThere() throws IOException, InterruptedException {
    Files.createDirectory(source.resolve("place"));
    Files.createSymbolicLink(source.resolve("link"), Path.of("/oldroot/tmp"));
    Path other = Files.createDirectory(temporary.resolve("other"));
    Files.writeString(other.resolve("file"), "of the other");

    var nested = mounted(true).withMount(new Mount(other, "/mnt/place", true));
    assertThat(prober.inBox(nested, "read", "/mnt/place/file")).isEqualTo("of the other");
    for (String target : List.of("/mnt", "/mnt/link", "/mnt/link/x", "/mnt/none", "/mnt/given")) {
      assertRefused(() -> mounted(false).withMount(new Mount(other, target, true)), target);
    }
  }

  // ------------------------------------------------------------------ packages

  @Test
  void packagesAreOnTheirPathsAndReadOnly() throws IOException, InterruptedException {
    Files.writeString(source.resolve("marvel.py"), "WORD = 'from the package'\n");
    Path bin = Files.createDirectory(source.resolve("bin"));
    Path tool = Files.writeString(bin.resolve("tool"), "#!/bin/sh\necho tool\n");
    Files.setPosixFilePermissions(tool, fromString("rwxr-xr-x"));
    Files.setPosixFilePermissions(bin, fromString("rwxr-xr-x"));
    var spec = BoxSpec.defaults().withPackages(source);
    var use = sh("python3 -c 'import marvel; print(marvel.WORD)'; tool; touch /packages/0/x 2>&1");
    var run = prober.engine().run(spec, use);
    assertThat(run.stdout().text())
        .isEqualTo(
            "from the package\ntool\ntouch: cannot touch '/packages/0/x': Read-only file system\n");
  }

  // --------------------------------------------------------------------- files

  @Test
  void aCopiedFileIsACopy() throws IOException, InterruptedException {
    var spec = BoxSpec.defaults().withFile(new CopiedFile(secret, "/workspace/copy"));
    assertThat(prober.run(spec, sh("cat copy; echo changed >copy; rm copy")))
        .isEqualTo("not for the box");
    assertThat(secret).hasContent("not for the box\n");
  }

  @Test
  void aFileIsNotCopiedIntoAMount() {
    assertRefused(() -> mounted(false).withFile(new CopiedFile(secret, "/mnt/copy")), "/mnt/copy");
    assertThat(source.resolve("copy")).doesNotExist();
  }

  @Test
  void aFileLargerThanTheWorkspaceIsRefused() {
    var small = Limits.defaults().withDisk(ByteSize.mebibytes(1));
    var spec = BoxSpec.defaults().withLimits(small).withFile(new CopiedFile(big(), "/opt/big"));
    assertThatThrownBy(() -> prober.engine().create(spec)).hasMessageContaining("larger than disk");
  }

  private Path big() {
    try (var file = new java.io.RandomAccessFile(temporary.resolve("big").toFile(), "rw")) {
      file.setLength(2 << 20);
      return temporary.resolve("big");
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  // --------------------------------------------------------------------- links

  /** A box with a writable mount can lay them out, and they belong to the mount's owner. */
  @Test
  void aLinkThatABoxMadeIsNotFollowed() throws IOException, InterruptedException {
    prober.run(mounted(false), sh("ln -s %s /mnt/out; ln -s .. /mnt/up".formatted(secret)));
    Path link = source.resolve("out");
    assertThat(link).hasContent("not for the box\n");
    assertRefused(() -> BoxSpec.defaults().withFile(new CopiedFile(link, "/workspace/in")), "link");
    assertRefused(() -> BoxSpec.defaults().withMount(new Mount(link, "/mnt", true)), "link");
    assertRefused(() -> BoxSpec.defaults().withPackages(source.resolve("up")), "link");
    Path through = source.resolve("up/secret");
    assertRefused(() -> BoxSpec.defaults().withMount(new Mount(through, "/mnt", true)), "link");
  }

  @Test
  void aSourceThatBecomesALinkAfterItWasCheckedIsNotFollowed() throws IOException {
    Path swapped = Files.writeString(source.resolve("swapped"), "harmless");
    var copied = BoxSpec.defaults().withFile(new CopiedFile(swapped, "/workspace/in"));
    var shown = BoxSpec.defaults().withMount(new Mount(swapped, "/mnt", true));
    Files.delete(swapped);
    Files.createSymbolicLink(swapped, secret);
    assertThatThrownBy(() -> prober.engine().create(copied)).hasMessageContaining("ELOOP");
    assertThatThrownBy(() -> prober.engine().create(shown)).hasMessageContaining("ELOOP");
  }

  @Test
  void aFileThatBecomesAPipeAfterItWasCheckedIsNotWaitedFor()
      throws IOException, InterruptedException {
    Path swapped = Files.writeString(source.resolve("swapped"), "harmless");
    var spec = BoxSpec.defaults().withFile(new CopiedFile(swapped, "/workspace/in"));
    Files.delete(swapped);
    Prober.run(List.of("mkfifo", swapped.toString()));
    assertThatThrownBy(() -> prober.engine().create(spec)).hasMessageContaining("no regular file");
  }

  // ------------------------------------------------------------------- targets

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "/proc",
        "/proc/sys/kernel",
        "/proc/self",
        "/dev",
        "/dev/shm",
        "/dev/null",
        "/tmp",
        "/usr",
        "/etc",
        "/mnt/../proc",
        "/mnt/.",
        "/mnt/",
        "//proc",
        "relative",
        "../up",
        ""
      })
  void aDirectoryOfTheBoxItselfIsNoTarget(String target) {
    assertRefused(() -> BoxSpec.defaults().withMount(new Mount(source, target, true)), "bad path");
    assertRefused(() -> BoxSpec.defaults().withFile(new CopiedFile(secret, target)), "bad path");
  }

  private static void assertRefused(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable spec, String message) {
    assertThatThrownBy(spec)
        .hasMessageContaining(message)
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.MOUNT_REFUSED));
  }
}
