package dev.ebb.cli.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TarTest {
  @TempDir Path directory;

  private Path from;
  private Path to;
  private Path outside;

  @BeforeEach
  void makeDirectories() throws IOException {
    from = Files.createDirectory(directory.resolve("from"));
    to = directory.resolve("to");
    outside = Files.createDirectory(directory.resolve("outside"));
  }

  private byte[] pack() throws IOException {
    var bytes = new ByteArrayOutputStream();
    TarPipe.pack(from, tar -> tar.transferTo(bytes));
    return bytes.toByteArray();
  }

  private void unpack(byte[] tar) throws IOException {
    new Unpacking(to, System.err).unpack(new ByteArrayInputStream(tar));
  }

  /** A tar of members without content. */
  private static byte[] tar(TarEntry... entries) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var writer = new TarWriter(bytes);
    for (TarEntry entry : entries) {
      writer.header(entry);
    }
    bytes.write(new byte[2 * TarEntry.BLOCK]);
    return bytes.toByteArray();
  }

  private static TarEntry entry(String name, char type, String link) {
    return new TarEntry(name, type, 0755, 0, 1_000_000, link);
  }

  @Test
  void aDirectoryArrivesAsItWas() throws IOException {
    byte[] content = new byte[100_001];
    new Random(1).nextBytes(content);
    Path deep = Files.createDirectories(from.resolve("d/" + "long-name-".repeat(12) + "/ü"));
    Files.write(deep.resolve("file"), content);
    Files.createFile(from.resolve("empty"));
    Files.createDirectory(from.resolve("hollow"));
    Files.createSymbolicLink(from.resolve("link"), Path.of("d/" + "x".repeat(150)));
    Files.setPosixFilePermissions(
        from.resolve("empty"), PosixFilePermissions.fromString("rwx--x--x"));

    unpack(pack());

    Path file = to.resolve(from.relativize(deep)).resolve("file");
    assertThat(file).hasBinaryContent(content);
    assertThat(to.resolve("hollow")).isEmptyDirectory();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(to.resolve("empty"))))
        .isEqualTo("rwx--x--x");
    assertThat(Files.readSymbolicLink(to.resolve("link")))
        .isEqualTo(Path.of("d/" + "x".repeat(150)));
    assertThat(Files.getLastModifiedTime(file).toMillis() / 1000)
        .isEqualTo(Files.getLastModifiedTime(deep.resolve("file")).toMillis() / 1000);
  }

  @Test
  void theTarOfTheSystemReadsWhatWeWrite() throws Exception {
    Files.writeString(from.resolve("a".repeat(120)), "content");
    Path tar = directory.resolve("x.tar");
    Files.write(tar, pack());
    Files.createDirectory(to);

    Process process =
        new ProcessBuilder("tar", "-xf", tar.toString(), "-C", to.toString()).inheritIO().start();

    assertThat(process.waitFor()).isZero();
    assertThat(to.resolve("a".repeat(120))).hasContent("content");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gnu", "ustar", "posix"})
  void weReadWhatTheTarOfTheSystemWrites(String format) throws Exception {
    Path deep = Files.createDirectories(from.resolve("some-directory-".repeat(6)));
    Files.writeString(deep.resolve("file-" + "x".repeat(60)), "content");
    Files.writeString(from.resolve("plain"), "content");
    Files.createLink(from.resolve("hard"), from.resolve("plain"));
    Path tar = directory.resolve("x.tar");

    Process process =
        new ProcessBuilder(
                "tar", "--format=" + format, "-cf", tar.toString(), "-C", from.toString(), ".")
            .inheritIO()
            .start();
    assertThat(process.waitFor()).isZero();
    unpack(Files.readAllBytes(tar));

    assertThat(to.resolve(from.relativize(deep)).resolve("file-" + "x".repeat(60)))
        .hasContent("content");
    assertThat(to.resolve("hard")).hasContent("content");
  }

  @ParameterizedTest
  @ValueSource(strings = {"../evil", "a/../../evil", ".."})
  void noNameLeadsOut(String name) throws IOException {
    byte[] tar = tar(entry(name, TarEntry.FILE, ""));

    assertThatThrownBy(() -> unpack(tar)).hasMessageContaining("leads out of the directory");
    assertThat(directory.resolve("evil")).doesNotExist();
  }

  @Test
  void anAbsoluteNameStaysInside() throws IOException {
    unpack(tar(entry("/etc/evil", TarEntry.FILE, "")));

    assertThat(to.resolve("etc/evil")).isRegularFile();
  }

  @Test
  void nothingIsWrittenThroughALinkOfTheTar() throws IOException {
    byte[] tar =
        tar(
            entry("way", TarEntry.SYMBOLIC_LINK, outside.toString()),
            entry("way/evil", TarEntry.FILE, ""));

    assertThatThrownBy(() -> unpack(tar)).isInstanceOf(IOException.class);
    assertThat(outside).isEmptyDirectory();
  }

  @Test
  void nothingIsWrittenThroughALinkThatWasThere() throws IOException {
    Files.createDirectory(to);
    Files.createSymbolicLink(to.resolve("way"), outside);
    byte[] tar = tar(entry("way/evil", TarEntry.FILE, ""));

    assertThatThrownBy(() -> unpack(tar)).isInstanceOf(IOException.class);
    assertThat(outside).isEmptyDirectory();
  }

  @Test
  void aLinkInThePlaceOfAFileIsReplaced() throws IOException {
    Path precious = Files.writeString(outside.resolve("precious"), "keep");
    Files.createDirectory(to);
    Files.createSymbolicLink(to.resolve("file"), precious);

    unpack(tar(entry("file", TarEntry.FILE, "")));

    assertThat(precious).hasContent("keep");
    assertThat(Files.isRegularFile(to.resolve("file"), LinkOption.NOFOLLOW_LINKS)).isTrue();
  }

  @Test
  void aHardLinkToTheOutsideIsRefused() throws IOException {
    Path precious = Files.writeString(outside.resolve("precious"), "keep");
    Files.createDirectory(to);
    Files.createSymbolicLink(to.resolve("way"), outside);
    byte[] tar = tar(entry("hard", TarEntry.HARD_LINK, "way/precious"));

    assertThatThrownBy(() -> unpack(tar)).isInstanceOf(IOException.class);
    assertThat(to.resolve("hard")).doesNotExist();
    assertThat(precious).hasContent("keep");
  }

  @Test
  void halfATarIsAnError() throws IOException {
    Files.write(from.resolve("file"), new byte[10_000]);
    byte[] tar = pack();

    for (int length : new int[] {100, 600, 5000}) {
      byte[] half = Arrays.copyOf(tar, length);
      assertThatThrownBy(() -> unpack(half)).isInstanceOf(EOFException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void garbageIsAnErrorOrNothing(int seed) throws IOException {
    var random = new Random(seed);
    Files.writeString(from.resolve("file"), "content");
    byte[] tar = pack();
    for (int i = 0; i < 300; i++) {
      byte[] damaged = tar.clone();
      damaged[random.nextInt(TarEntry.BLOCK)] = (byte) random.nextInt(256);
      try {
        unpack(damaged);
      } catch (IOException e) {
        assertThat(e.getMessage()).isNotNull();
      }
    }
  }

  /** Devices of both kinds and a pipe. */
  @ParameterizedTest
  @ValueSource(chars = {'3', '4', '6'})
  void whatIsNoFileIsLeftOutOfTheHost(char type) throws IOException {
    unpack(tar(entry("odd", type, ""), entry("after/", TarEntry.DIRECTORY, "")));
    try (var made = Files.list(to)) {
      assertThat(made).containsExactly(to.resolve("after"));
    }
  }

  @Test
  @Timeout(30)
  void unpackingDoesNotWaitForTheWriterOfAPipe() throws Exception {
    Process made = new ProcessBuilder("mkfifo", from.resolve("pipe").toString()).start();
    assertThat(made.waitFor()).isZero();
    Files.writeString(from.resolve("plain"), "content");

    unpack(pack());

    assertThat(to.resolve("pipe")).doesNotExist();
    assertThat(to.resolve("plain")).hasContent("content");
  }

  @Test
  void aPackerThatFailsEndsTheTarWithItsFailure() {
    Path missing = directory.resolve("missing");

    assertThatThrownBy(() -> TarPipe.pack(missing, tar -> tar.readAllBytes()))
        .hasMessageContaining("missing");
  }
}
