package dev.ebb.model;

import static dev.ebb.box.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.backend.SandboxSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BoxSpecTest {
  private static final BoxSpec DEFAULTS = BoxSpec.defaults();

  private Path directory;
  private Path file;
  @TempDir Path temporary;

  @BeforeEach
  void create() throws IOException {
    temporary = temporary.toRealPath();
    directory = Files.createDirectory(temporary.resolve("directory"));
    file = Files.createFile(temporary.resolve("file"));
  }

  private static void refused(String message, Function<BoxSpec, BoxSpec> change) {
    assertRefused(ErrorCode.MOUNT_REFUSED, message, () -> change.apply(DEFAULTS));
  }

  @Test
  void aBoxSeesNothingOfTheHostUnlessItIsMounted() {
    assertThat(DEFAULTS.network()).isEqualTo(Network.NONE);
    assertThat(DEFAULTS.mounts()).isEmpty();
    assertThat(DEFAULTS.packages()).isEmpty();
    assertThat(DEFAULTS.files()).isEmpty();
  }

  @Test
  void additionsKeepTheirOrder() {
    var spec =
        DEFAULTS
            .withNetwork(Network.HOST)
            .withMount(new Mount(directory, "/a", true))
            .withMount(new Mount(file, "/b", false))
            .withPackages(directory)
            .withFile(new CopiedFile(file, "/workspace/file"));
    assertThat(spec.network()).isEqualTo(Network.HOST);
    assertThat(spec.mounts()).extracting(Mount::box).containsExactly("/a", "/b");
    assertThat(spec.packages()).containsExactly(directory);
    assertThat(spec.files()).hasSize(1);
    var sandbox = SandboxSpec.of(spec, true);
    assertThat(sandbox.mounts()).isEqualTo(spec.mounts());
    assertThat(sandbox.disk()).isEqualTo(spec.limits().disk());
    assertThat(sandbox.temporary()).isEqualTo(spec.limits().temporary());
  }

  @Test
  void aMissingPathIsNamed() {
    Path absent = temporary.resolve("absent");
    refused(
        "cannot mount " + absent + ": no such file or directory",
        spec -> spec.withMount(new Mount(absent, "/a", true)));
    refused(
        "cannot use packages of " + absent + ": no such file or directory",
        spec -> spec.withPackages(absent));
    refused(
        "cannot copy " + absent + ": no such file or directory",
        spec -> spec.withFile(new CopiedFile(absent, "/a")));
  }

  @Test
  void aPathOfTheWrongKindIsNamed() {
    refused("cannot use packages of " + file + ": no directory", spec -> spec.withPackages(file));
    refused(
        "cannot copy " + directory + " into the box: no regular file",
        spec -> spec.withFile(new CopiedFile(directory, "/a")));
    refused(
        "cannot copy /dev/null into the box: no regular file",
        spec -> spec.withFile(new CopiedFile(Path.of("/dev/null"), "/a")));
  }

  @Test
  void aLinkIsNotFollowed() throws IOException {
    Path link = Files.createSymbolicLink(temporary.resolve("link"), directory);
    refused(
        "cannot mount %s: it leads through a link; if you trust that, name %s"
            .formatted(link, directory),
        spec -> spec.withMount(new Mount(link, "/a", true)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a", "./a", "/a/", "/a/../b", "/a/./b", "//a", "/a//b"})
  void aPlaceThatIsNotPlainIsRefused(String target) {
    refused(
        "bad path \"" + target + "\" in the box: it must be absolute, without . and ..",
        spec -> spec.withMount(new Mount(directory, target, true)));
    refused(
        "bad path \"" + target + "\" in the box: it must be absolute, without . and ..",
        spec -> spec.withFile(new CopiedFile(file, target)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "/proc",
        "/proc/sys",
        "/dev",
        "/dev/shm",
        "/dev/null",
        "/tmp",
        "/usr",
        "/etc"
      })
  void thePlacesOfTheBoxItselfAreRefused(String target) {
    refused(
        "bad path \"" + target + "\" in the box: that place is the box's own",
        spec -> spec.withMount(new Mount(directory, target, true)));
  }

  @Test
  void aPlaceThatIsNoPathIsRefusedToo() {
    assertThatThrownBy(() -> DEFAULTS.withMount(new Mount(directory, "/a\0b", true)))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.MOUNT_REFUSED))
        .hasMessageStartingWith("bad path \"/a\0b\" in the box: ");
  }

  @Test
  void twoThingsInOnePlaceAreRefused() {
    refused(
        "cannot mount both %s and %s at /a".formatted(directory, file),
        spec ->
            spec.withMount(new Mount(directory, "/a", true))
                .withMount(new Mount(file, "/a", true)));
    refused(
        "cannot copy %s to /a/file in the box: that is in the mount of %s"
            .formatted(file, directory),
        spec ->
            spec.withMount(new Mount(directory, "/a", true))
                .withFile(new CopiedFile(file, "/a/file")));
  }

  @Test
  void aMountInAMountNeedsAPlaceThere() throws IOException {
    refused(
        "cannot mount at /a/b in the box: %s has no such directory or file".formatted(directory),
        spec ->
            spec.withMount(new Mount(directory, "/a", true))
                .withMount(new Mount(directory, "/a/b", true)));
    Files.createDirectory(directory.resolve("b"));
    assertThat(
            DEFAULTS
                .withMount(new Mount(directory, "/a", true))
                .withMount(new Mount(directory, "/a/b", true))
                .mounts())
        .hasSize(2);
  }
}
