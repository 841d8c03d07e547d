package dev.ebb.testkit.kernel;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Spawn;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.LeakChecked;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("kernel")
@LeakChecked
class SpawnKernelTest {
  private static final Path CAT = Path.of("/bin/cat");
  private static final Path SH = Path.of("/bin/sh");

  private final Scope scope = new Scope();
  private Fd nothing;
  @TempDir Path directory;

  @BeforeEach
  void open() throws KernelException {
    nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  /** A child that lives until its stdin ends, and has begun to run its program. */
  private final class Living implements AutoCloseable {
    private final Scope stdin = new Scope();
    private final Pidfd child;

    Living(List<Fd> more) throws KernelException {
      try (var passing = new Scope()) {
        Fd.Pipe in = Fd.pipe(passing, stdin);
        Fd.Pipe out = Fd.pipe(scope, passing);
        var fds = new ArrayList<>(List.of(in.read(), out.write(), nothing));
        fds.addAll(more);
        child = Spawn.spawn(scope, CAT, List.of("cat", "-u"), fds);
        in.write().write("?");
        assertThat(out.read().read(new byte[1], 0, 1)).isEqualTo(1);
      }
    }

    Path proc() {
      return Path.of("/proc", Integer.toString(child.pid()));
    }

    String status(String field) throws KernelException {
      return Children.status(child.pid(), field);
    }

    /** The files behind its descriptors. */
    Map<Integer, Object> descriptors() throws IOException {
      var all = new TreeMap<Integer, Object>();
      try (var links = Files.newDirectoryStream(proc().resolve("fd"))) {
        for (Path link : links) {
          all.put(Integer.valueOf(link.getFileName().toString()), fileKey(link));
        }
      }
      return all;
    }

    @Override
    public void close() throws KernelException {
      stdin.close();
      assertThat(Children.awaitExit(child).status()).isZero();
    }
  }

  private static Object fileKey(Path path) throws IOException {
    return Files.getAttribute(path, "unix:ino");
  }

  @Test
  void theChildHasTheNamedDescriptorsAndNoOther() throws Exception {
    // KERNEL: what the JDK opens is not close-on-exec.
    Pipe pipe = Pipe.open();
    try (var file = new FileInputStream("/proc/self/status");
        var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var source = pipe.source();
        var sink = pipe.sink();
        var child = new Living(List.of())) {
      assertThat(file.read()).isPositive();
      assertThat(socket.isBound() && source.isOpen() && sink.isOpen()).isTrue();
      assertThat(child.descriptors().keySet()).containsExactly(0, 1, 2);
    }
  }

  @Test
  void descriptorsArriveInOrderThoughTheirNumbersCollideWithTheTargets() throws Exception {
    var files = new ArrayList<Fd>();
    // Leaves holes below the targets, where a copy of a source would be overwritten.
    var holes = new Scope();
    for (int i = 0; i < 150; i++) {
      Fd.event(holes);
    }
    for (int i = 0; i < 100; i++) {
      files.add(Fd.open(scope, directory.resolve("file" + i), Fd.Flag.READ_WRITE, Fd.Flag.CREATE));
    }
    holes.close();
    // Highest first, the very first one twice: any dup2 in place would overwrite a later source.
    Collections.reverse(files);
    files.add(files.getFirst());
    try (var child = new Living(files)) {
      var descriptors = child.descriptors();
      assertThat(descriptors).hasSize(3 + files.size());
      for (int i = 0; i < 100; i++) {
        assertThat(descriptors.get(3 + i)).isEqualTo(fileKey(directory.resolve("file" + (99 - i))));
      }
      assertThat(descriptors.get(103)).isEqualTo(fileKey(directory.resolve("file99")));
    }
  }

  @Test
  void noSignalIsBlockedOrIgnoredThoughTheJvmDoesBoth() throws Exception {
    int ignored = 21; // SIGTTIN
    try (var _ = Signals.ignore(ignored);
        var _ = Signals.blockAll()) {
      String self = "thread-self";
      assertThat(Long.parseUnsignedLong(Children.status(self, "SigIgn"), 16) >> (ignored - 1) & 1)
          .isEqualTo(1);
      assertThat(Children.status(self, "SigBlk")).isNotEqualTo("0000000000000000");
      try (var child = new Living(List.of())) {
        assertThat(child.status("SigIgn")).isEqualTo("0000000000000000");
        assertThat(child.status("SigBlk")).isEqualTo("0000000000000000");
        assertThat(child.status("SigCgt")).isEqualTo("0000000000000000");
      }
    }
  }

  @Test
  void theChildLeadsASessionOfItsOwn() throws Exception {
    try (var child = new Living(List.of())) {
      assertThat(child.status("NSsid")).isEqualTo(Integer.toString(child.child.pid()));
      assertThat(child.status("NSpgid")).isEqualTo(Integer.toString(child.child.pid()));
      assertThat(child.status("PPid")).isEqualTo(Long.toString(ProcessHandle.current().pid()));
    }
  }

  @Test
  void theEnvironmentIsEmpty() throws Exception {
    assertThat(System.getenv()).isNotEmpty();
    try (var child = new Living(List.of())) {
      assertThat(Filesystem.read(child.proc().resolve("environ"))).isEmpty();
    }
  }

  @Test
  void argumentsArriveByteForByte() throws Exception {
    Fd output = Fd.memory(scope, "memory");
    var words = List.of("printf", "%s|", "", "two words", "new\nline", "päth", "-x");
    Pidfd child =
        Spawn.spawn(scope, Path.of("/usr/bin/printf"), words, List.of(nothing, output, nothing));
    assertThat(Children.awaitExit(child).status()).isZero();
    byte[] said = new byte[100];
    int n = output.readAt(0, said, 0, said.length);
    assertThat(new String(said, 0, n, java.nio.charset.StandardCharsets.UTF_8))
        .isEqualTo("|two words|new\nline|päth|-x|");
  }

  private Pidfd shell(String command) throws KernelException {
    return Spawn.spawn(scope, SH, List.of("sh", "-c", command), List.of(nothing, nothing, nothing));
  }

  @Test
  void exitCodesAndSignalsAreDistinguished() throws Exception {
    for (int code : new int[] {0, 1, 127, 130, 255}) {
      var status = Children.awaitExit(shell("exit " + code));
      assertThat(status.isExit()).isTrue();
      assertThat(status.status()).isEqualTo(code);
    }
    for (int signal : new int[] {9, 15, 6}) {
      var status = Children.awaitExit(shell("kill -" + signal + " $$"));
      assertThat(status.isExit()).isFalse();
      assertThat(status.status()).isEqualTo(signal);
    }
  }

  @Test
  void whatCannotBeExecutedSaysWhy() throws Exception {
    Path absent = directory.resolve("absent");
    assertThatThrownBy(() -> Spawn.spawn(scope, absent, List.of("absent"), List.of(nothing)))
        .isInstanceOfSatisfying(KernelException.class, e -> assertThat(e.is(Errno.ENOENT)).isTrue())
        .hasMessage("cannot start " + absent + ": ENOENT");
    Path text = Files.writeString(directory.resolve("text"), "no program");
    assertThatThrownBy(() -> Spawn.spawn(scope, text, List.of("text"), List.of(nothing)))
        .hasMessage("cannot start " + text + ": EACCES");
    assertThat(text.toFile().setExecutable(true)).isTrue();
    assertThatThrownBy(() -> Spawn.spawn(scope, text, List.of("text"), List.of(nothing)))
        .hasMessage("cannot start " + text + ": ENOEXEC");
  }

  @Test
  void aChildThatCannotBeOwnedDoesNotLive() throws Exception {
    Path witness = directory.resolve("alive");
    var closed = new Scope();
    closed.close();
    var command = List.of("sh", "-c", "while :; do echo >>" + witness + "; done");
    assertThatThrownBy(() -> Spawn.spawn(closed, SH, command, List.of(nothing, nothing, nothing)))
        .hasMessage("scope is closed");
    assertThat(ProcessHandle.current().children()).isEmpty();
  }

  @Test
  void theCallersDescriptorsStayTheirs() throws Exception {
    Fd file = Fd.memory(scope, "memory");
    Children.awaitExit(Spawn.spawn(scope, SH, List.of("sh", "-c", ":"), List.of(file)));
    file.write("still open");
    byte[] text = new byte[5];
    assertThat(file.readAt(0, text, 0, 5)).isEqualTo(5);
    assertThat(new String(text, US_ASCII)).isEqualTo("still");
  }
}
