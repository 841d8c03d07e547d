package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.FileEntry;
import dev.ebb.model.FirstFile;
import dev.ebb.model.Limits;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.LeakChecked;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The files of a box, whatever is in it. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class BoxFilesKernelTest {
  private static final String EVIL =
      """
      import io, sys, tarfile
      def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, data=b"evil"):
          info = tarfile.TarInfo(name)
          info.type, info.linkname, info.mode, info.devmajor, info.devminor = kind, link, mode, 1, 3
          info.size = len(data) if kind == tarfile.REGTYPE else 0
          tar.addfile(info, io.BytesIO(data))
      with tarfile.open("/tmp/evil.tar", "w") as tar:
          exec(sys.argv[1])
      """;

  private static final String CROWD =
      """
      import os, time
      open("here", "w").close()
      try:
          while os.fork():
              pass
      except OSError:
          print("full", flush=True)
      time.sleep(1000)
      """;

  @RegisterExtension final Workbench bench = new Workbench();

  /** Content at whose end something happens. */
  private static final class Surprise extends InputStream {
    interface Event {
      void happen() throws IOException;
    }

    private final Event event;

    Surprise(Event event) {
      this.event = event;
    }

    @Override
    public int read() throws IOException {
      event.happen();
      return -1;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      return read();
    }
  }

  private static InputStream stream(String text) {
    return new ByteArrayInputStream(text.getBytes(UTF_8));
  }

  private static String content(BoxFiles files, String path)
      throws IOException, InterruptedException {
    try (var content = files.read(path, 0)) {
      return new String(content.readAllBytes(), UTF_8);
    }
  }

  private String shell(Box box, String script) throws IOException, InterruptedException {
    Exec exec = bench.start(box, sh(script));
    Workbench.await(exec);
    return text(exec.stdout());
  }

  private static void assertFails(ErrorCode code, String message, ThrowingCallable operation) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(operation)
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
  }

  // --- content ---

  @Test
  void contentIsByteExactFromAnyOffset() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    byte[] bytes = new byte[3_000_001];
    new Random(1).nextBytes(bytes);
    files.write("a/b/file", 0640, new ByteArrayInputStream(bytes));
    for (int offset : new int[] {0, 1, 3_000_000, 3_000_001}) {
      try (var content = files.read("/workspace/a/b/file", offset)) {
        assertThat(content.readAllBytes())
            .isEqualTo(Arrays.copyOfRange(bytes, offset, bytes.length));
      }
    }
    assertThat(shell(box, "stat -c '%a %u %s' a/b/file")).isEqualTo("640 1000 3000001\n");
    files.write("a/b/file", 0600, InputStream.nullInputStream());
    assertThat(content(files, "a/b/file")).isEmpty();
    assertIdle(box);
  }

  @Test
  void aLargeFileDoesNotPassThroughOurMemory() throws IOException, InterruptedException {
    Box box = bench.box();
    bench.run(box, sh("truncate -s 300M large").withFileSize(ByteSize.mebibytes(300)));
    long before = usedMemory();
    long size = 0;
    try (var content = new BoxFiles(box).read("large", 0)) {
      byte[] chunk = new byte[64 * 1024];
      for (int n = content.read(chunk); n >= 0; n = content.read(chunk)) {
        size += n;
      }
      assertThat(usedMemory() - before).isLessThan(32L << 20);
    }
    assertThat(size).isEqualTo(300L << 20);
  }

  private static long usedMemory() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @Test
  void contentThatIsNotReadToItsEndEndsWithItsClose()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    shell(box, "truncate -s 200M large");
    try (var content = new BoxFiles(box).read("large", 5)) {
      assertThat(content.read()).isZero();
    }
    assertIdle(box);
  }

  @Test
  void contentThatBreaksOffChangesNothing()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    files.write("file", 0644, stream("old"));
    var broken =
        new Surprise(
            () -> {
              throw new IOException("the caller went away");
            });
    var half = new SequenceInputStream(stream("new".repeat(100_000)), broken);
    assertThatIOException()
        .isThrownBy(() -> files.write("file", 0644, half))
        .withMessage("the caller went away");
    assertThat(content(files, "file")).isEqualTo("old");
    assertThat(shell(box, "ls -A")).isEqualTo("file\n");
    assertIdle(box);
  }

  @Test
  void aFullDiskLeavesTheOldFile() throws IOException, InterruptedException {
    Box box = bench.box(Limits.defaults().withDisk(ByteSize.mebibytes(4)));
    var files = new BoxFiles(box);
    files.write("file", 0644, stream("old"));
    var much = new ByteArrayInputStream(new byte[8 << 20]);
    assertFails(
        ErrorCode.NO_SPACE,
        "cannot write \"file\": no space left (ENOSPC)",
        () -> files.write("file", 0644, much));
    assertThat(content(files, "file")).isEqualTo("old");
    files.write("file", 0644, new ByteArrayInputStream(new byte[2 << 20]));
  }

  // --- by init itself ---

  @Test
  void aFileThatInitWritesIsLikeAnyOther() throws IOException, InterruptedException {
    var files = new BoxFiles(bench.box());
    byte[] bytes = new byte[64 * 1024];
    new Random(2).nextBytes(bytes);
    FileEntry made = files.writeNew(new FirstFile("grüße", 0640, bytes)).orElseThrow();
    assertThat(made).isEqualTo(files.stat("grüße"));
    try (var content = files.read("grüße", 0)) {
      assertThat(content.readAllBytes()).isEqualTo(bytes);
    }
    assertThat(files.workspace()).containsExactly(made);
  }

  @Test
  void aFileThatInitCannotWriteIsWrittenByAProcess() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    shell(box, "echo mine > file; ln -s nowhere link");
    assertThat(files.writeNew(new FirstFile("file", 0644, new byte[1]))).isEmpty();
    assertThat(files.writeNew(new FirstFile("link", 0644, new byte[1]))).isEmpty();
    assertThat(files.writeNew(new FirstFile("long", 0644, new byte[64 * 1024 + 1]))).isEmpty();
    assertThat(files.writeNew(new FirstFile("odd", 04755, new byte[1]))).isEmpty();
    assertThat(files.workspace().stream().map(FileEntry::name)).containsExactly("file", "link");
    assertThat(content(files, "file")).isEqualTo("mine\n");
  }

  @Test
  void theWorkspaceIsSeenAsItIsListed() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    shell(box, "echo 1 > b; mkdir c; touch -d @1234567890 a; chmod 600 a");
    assertThat(files.workspace()).hasSize(3).isEqualTo(files.list("/workspace"));
    shell(box, "for i in $(seq 300); do touch many-$i; done");
    assertThat(files.workspace()).hasSize(303).isEqualTo(files.list("/workspace"));
  }

  @Test
  void theFilesOfAProgramAreListedAsTheyWereAtItsEnd() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    var program = ExecSpec.of("/bin/sh", "-c", "echo 1 > b; mkdir c; touch a").withLook();
    Exec exec = bench.start(box, program);
    assertThat(exec.await().cause()).isEqualTo(new ExitCause.Exited(0));
    List<FileEntry> then = files.workspace();
    shell(box, "rm a");
    assertThat(files.workspaceAfter(exec)).hasSize(3).isEqualTo(then);
    Exec command = bench.start(box, ExecSpec.of("/bin/sh", "-c", "touch d"));
    command.await();
    assertThat(files.workspaceAfter(command)).as("of a command it is not told").hasSize(3);
    Exec many =
        bench.start(
            box, ExecSpec.of("/bin/sh", "-c", "for i in $(seq 300); do touch $i; done").withLook());
    many.await();
    assertThat(files.workspaceAfter(many)).as("more than is told").hasSize(303);
  }

  @Test
  void theWorkspaceOfAFullBoxIsSeen() throws IOException, InterruptedException {
    Box box = bench.box(Limits.defaults().withPids(4));
    var files = new BoxFiles(box);
    Exec crowd = bench.start(box, python(CROWD));
    Workbench.awaitOutput(crowd, "full");
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> files.list("/workspace"));
    assertThat(files.workspace().stream().map(FileEntry::name)).containsExactly("here");
    crowd.kill(Duration.ZERO);
  }

  // --- the rest ---

  @Test
  void entriesSayWhatThereIs() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    shell(
        box, "printf 12345 > b; chmod 640 b; touch -d @1234567890 b; mkdir c; ln -s b a; mkfifo d");
    assertThat(files.list(".").stream().map(FileEntry::name)).containsExactly("a", "b", "c", "d");
    assertThat(files.list("/workspace").stream().map(FileEntry::type))
        .containsExactly(
            FileEntry.Type.LINK,
            FileEntry.Type.FILE,
            FileEntry.Type.DIRECTORY,
            FileEntry.Type.OTHER);
    FileEntry file = files.stat("/workspace/b");
    assertThat(file.size()).isEqualTo(5);
    assertThat(file.mode()).isEqualTo(0640);
    assertThat(file.modified()).isEqualTo(Instant.ofEpochSecond(1_234_567_890));
    assertThat(files.stat("a").target()).contains("b");
    assertThat(files.list("c")).isEmpty();
  }

  @Test
  void namesThatAreNoUtf8SurviveTheWayThereAndBack() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    bench.run(box, python("open(b'\\xff\\xfe\\n', 'w').write('hello')"));
    List<FileEntry> entries = files.list(".");
    assertThat(entries).hasSize(1);
    String name = entries.getFirst().name();
    assertThat(content(files, name)).isEqualTo("hello");
    files.move(name, "plain");
    files.remove("plain", false);
    assertThat(files.list(".")).isEmpty();
  }

  @Test
  void directoriesAreMadeMovedAndRemoved() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    files.mkdir("a/b/c");
    files.mkdir("a/b/c");
    files.write("a/b/c/file", 0644, stream("x"));
    files.move("a/b", "moved");
    assertFails(
        ErrorCode.CONFLICT,
        "cannot remove \"moved\": directory not empty (ENOTEMPTY)",
        () -> files.remove("moved", false));
    files.remove("moved", true);
    assertThat(shell(box, "find")).isEqualTo(".\n./a\n");
  }

  @ParameterizedTest
  @CsvSource({
    "none,            NOT_FOUND,   no such file or directory (ENOENT)",
    "secret,          FORBIDDEN,   permission denied (EACCES)",
    "directory,       CONFLICT,    is a directory (EISDIR)",
    "pipe,            CONFLICT,    not a regular file (ENXIO)",
    "/dev/zero,       CONFLICT,    not a regular file (ENXIO)",
    "file/x,          CONFLICT,    not a directory (ENOTDIR)",
    "loop,            CONFLICT,    too many links (ELOOP)",
    "/proc/1/environ, FORBIDDEN,   permission denied (EACCES)",
  })
  void aFailedReadIsReportedPrecisely(String path, ErrorCode code, String words)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    shell(box, "mkdir directory; mkfifo pipe; touch file secret; chmod 0 secret; ln -s loop loop");
    String message = "cannot read \"" + path + "\": " + words;
    assertFails(code, message, () -> new BoxFiles(box).read(path, 0));
    assertIdle(box);
  }

  @Test
  void aFailedChangeIsReportedPrecisely() throws IOException, InterruptedException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    shell(box, "mkdir directory; touch file");
    assertFails(
        ErrorCode.CONFLICT, "is a directory", () -> files.write("directory", 0644, stream("x")));
    assertFails(ErrorCode.FORBIDDEN, "EROFS", () -> files.write("/usr/x", 0644, stream("x")));
    assertFails(ErrorCode.FORBIDDEN, "EPERM", () -> files.write("x", 04755, stream("x")));
    assertFails(ErrorCode.CONFLICT, "ENOTDIR", () -> files.list("file"));
    assertFails(ErrorCode.CONFLICT, "EEXIST", () -> files.mkdir("file"));
    assertFails(ErrorCode.NOT_FOUND, "\"none\" to \"x\"", () -> files.move("none", "x"));
    assertFails(
        ErrorCode.BAD_REQUEST, "another file system", () -> files.move("file", "/tmp/file"));
    assertFails(ErrorCode.BAD_REQUEST, "name too long", () -> files.stat("x".repeat(256)));
    assertFails(ErrorCode.BAD_REQUEST, "name too long", () -> files.stat("x".repeat(100_000)));
    assertFails(ErrorCode.BAD_REQUEST, "no path", () -> files.stat(""));
    assertFails(ErrorCode.BAD_REQUEST, "NUL", () -> files.stat("a\0b"));
    assertFails(ErrorCode.BAD_REQUEST, "negative", () -> files.read("file", -1));
    assertFails(ErrorCode.BAD_REQUEST, "mode", () -> files.write("x", 010000, stream("x")));
    box.release();
    assertFails(ErrorCode.WRONG_STATE, "", () -> files.stat("file"));
  }

  @Test
  void aBoxThatEndsUnderAnOperationEndsIt() throws IOException, InterruptedException {
    Box box = bench.box();
    var ending = new Surprise(box::release);
    var half = new SequenceInputStream(stream("x".repeat(1000)), ending);
    assertFails(
        ErrorCode.WRONG_STATE, "it was ended", () -> new BoxFiles(box).write("x", 0644, half));
  }

  @Test
  void aProcessOfTheBoxThatKillsAnOperationIsNamedAsTheReason()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var killing = new Surprise(() -> killAll(box));
    var half = new SequenceInputStream(stream("x".repeat(1000)), killing);
    assertFails(
        ErrorCode.CONFLICT,
        "another process of the box ended it",
        () -> new BoxFiles(box).write("x", 0644, half));
    assertIdle(box);
  }

  private void killAll(Box box) throws IOException {
    try {
      shell(box, "kill -KILL -1");
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  // --- tar ---

  @Test
  void aDirectoryGoesOutAndInAsATar() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var files = new BoxFiles(box);
    shell(
        box,
        "mkdir -p from/sub to; echo 1 > from/sub/file; ln -s sub/file from/link; chmod 750 from/sub");
    try (var tar = files.pack("from")) {
      files.unpack("/workspace/to", tar);
    }
    assertThat(shell(box, "diff -r from to && readlink to/link && stat -c %a to/sub"))
        .isEqualTo("sub/file\n750\n");
    try (var tar = files.pack("from/sub/file")) {
      files.unpack("/tmp", tar);
    }
    assertThat(shell(box, "cat /tmp/file")).isEqualTo("1\n");
    assertFails(ErrorCode.NOT_FOUND, "cannot pack \"none\": no such", () -> files.pack("none"));
    try (var tar = files.pack("from")) {
      assertFails(ErrorCode.NOT_FOUND, "into \"none\": no such", () -> files.unpack("none", tar));
    }
    assertFails(
        ErrorCode.BAD_REQUEST,
        "does not look like a tar archive",
        () -> files.unpack("to", stream("nonsense".repeat(1000))));
    assertIdle(box);
  }

  private void unpackEvil(Box box, String members) throws IOException, InterruptedException {
    shell(box, "mkdir -p in outside; echo precious > outside/file; echo precious > /tmp/file");
    var result = bench.run(box, python(EVIL, members));
    assertThat(result.cause()).isEqualTo(new Exited(0));
    var files = new BoxFiles(box);
    try (var tar = files.read("/tmp/evil.tar", 0)) {
      files.unpack("in", tar);
    }
  }

  private void assertHarmless(Box box) throws IOException, InterruptedException {
    assertThat(
            shell(
                box,
                "cat outside/file /tmp/file; ls outside; ls /tmp; find in -perm /6000 -o -type b -o -type c"))
        .isEqualTo(
            "precious\nprecious\nfile\nevil.tar\nfile\nhome\n".replace("home\n", homeOf(box)));
  }

  private String homeOf(Box box) throws IOException, InterruptedException {
    return shell(box, "ls -d /tmp/home 2>/dev/null | sed s,/tmp/,,");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "member('../outside/file')                                            | BAD_REQUEST | '..'",
        "member('/tmp/file/../file')                                          | BAD_REQUEST | '..'",
        "member('null', tarfile.CHRTYPE)                                      | FORBIDDEN   | mknod",
        "member('l', tarfile.SYMTYPE, '../outside'); member('l/file')         | CONFLICT    | l/file",
        "member('l', tarfile.SYMTYPE, '/workspace/outside'); member('l/file') | CONFLICT    | l/file",
        "member('h', tarfile.LNKTYPE, '../outside/file')                      | BAD_REQUEST | hard link",
      })
  void aTarThatReachesOutIsRefusedInTarsWords(String members, ErrorCode code, String words)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    assertFails(code, words, () -> unpackEvil(box, members));
    assertHarmless(box);
    assertIdle(box);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "member('/tmp/file')              | in/tmp/file",
        "member('setuid', mode=0o6755)    | in/setuid",
        "member('p', tarfile.FIFOTYPE)    | in/p",
      })
  void forbiddenMembersOfATarAreRefusedOrMadeHarmless(String members, String expected)
      throws IOException, InterruptedException {
    Box box = bench.box();
    try {
      unpackEvil(box, members);
    } catch (SandboxException e) {
      assertThat(e.code()).isEqualTo(ErrorCode.FORBIDDEN);
    }
    assertHarmless(box);
    assertThat(shell(box, "ls -d " + expected)).isEqualTo(expected + "\n");
  }

  @Test
  void aTarThatIsABombMeetsTheDiskLimit()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Limits.defaults().withDisk(ByteSize.mebibytes(4)));
    assertFails(
        ErrorCode.NO_SPACE,
        "bomb: ",
        () -> unpackEvil(box, "member('bomb', data=bytes(20 << 20))"));
    assertHarmless(box);
    shell(box, "rm in/bomb");
    bench.assertUsable(box);
  }
}
