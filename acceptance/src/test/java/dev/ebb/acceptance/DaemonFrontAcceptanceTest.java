package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.OutputStream;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Commands that a front hands over, and fronts that do not behave. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonFrontAcceptanceTest {
  /** A shell's stopped job keeps nothing of what is typed meanwhile: another program reads it. */
  private static final String STOPPED_JOB =
      """
      import os, pty, signal, sys, time
      pid, terminal = pty.fork()
      if pid == 0:
          job = os.fork()
          if job == 0:
              os.execv(sys.argv[1], sys.argv[1:])
          while not os.path.exists(os.environ["STARTED"]):
              time.sleep(0.01)
          os.kill(job, signal.SIGSTOP)
          os.waitpid(job, os.WUNTRACED)
          os.write(1, b"stopped\\n")
          print("the shell read", sys.stdin.readline())
          sys.stdout.flush()
          os.kill(job, signal.SIGKILL)
          os.waitpid(job, 0)
          os._exit(0)
      said = b""
      while b"stopped" not in said:
          said += os.read(terminal, 4096)
      os.write(terminal, b"secret\\n")
      while True:
          try:
              chunk = os.read(terminal, 4096)
          except OSError:
              break
          said += chunk
      os.waitpid(pid, 0)
      os.write(1, said)
      """;

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  @TempDir Path directory;

  private static long begun() throws Exception {
    return DAEMON.gauge("ebb_fronts_begun_total");
  }

  private static void awaitNoFront() {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(() -> assertThat(DAEMON.gauge("ebb_fronts")).isZero());
  }

  private static void signal(String name, Process process) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  private static boolean isRunning(String command) {
    return ProcessHandle.allProcesses()
        .flatMap(process -> process.info().commandLine().stream())
        .anyMatch(line -> line.endsWith(command));
  }

  private static void awaitRunning(boolean isRunning, String command) {
    await().atMost(DaemonProcess.PATIENCE).until(() -> isRunning(command) == isRunning);
  }

  private static void makeBox(String name) throws IOException {
    try (EbbClient client = EbbClient.connect(DAEMON.home().resolve("ebb.sock"))) {
      client.boxes().create(BoxRequest.defaults().withName(name));
    }
  }

  // --- which way ---

  @Test
  void aCommandRunsInTheDaemonUnlessItNeedsAProcess() throws Exception {
    long before = begun();
    assertThat(DAEMON.ebb().call("ls").code()).isZero();
    assertThat(DAEMON.ebb().call("run", "--", "true").code()).isZero();
    assertThat(begun()).isEqualTo(before + 2);

    var process = new Ebb(DAEMON.home(), List.of("env", "EBB_FRONT=never"), Map.of());
    assertThat(process.call("ls").code()).isZero();
    assertThat(begun()).isEqualTo(before + 2);
  }

  @Test
  void aCallerWithoutAllStreamsHasAProcess() throws Exception {
    long before = begun();
    var closed = DAEMON.ebb().startedBy("sh", "-c", "exec \"$@\" <&-", "sh").call("ls");
    assertThat(closed.text()).startsWith("BOX");
    assertThat(begun()).isEqualTo(before);
  }

  @Test
  void filesOfTheCallerAreReadByAProcess() throws Exception {
    Path code = Files.writeString(directory.resolve("main.py"), "print(6*7)");
    var run = DAEMON.ebb().call("code", "python", "-f", code.toString());
    assertThat(run.text()).isEqualTo("42\n");
    // A name that means something in the caller alone.
    var shell = DAEMON.ebb().startedBy("bash", "-c", "exec \"$@\" -f <(echo 'print(7)')", "bash");
    assertThat(shell.call("code", "python").text()).isEqualTo("7\n");
  }

  @Test
  void theSocketIsItsOwnersAlone() throws Exception {
    Path socket = DAEMON.home().resolve("ebb.sock.cli");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
        .isEqualTo("rw-------");
    TestHost.require(Feature.ROOT);
    String script =
        """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(sys.argv[1])
        try:
            s.sendall(b"H\\0\\0\\0\\0")
            answer = s.recv(1)
        except OSError:
            answer = b""
        sys.exit(9 if answer else 0)
        """;
    // Also if the files themselves would let another user in.
    Files.setPosixFilePermissions(DAEMON.home(), PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    long before = begun();
    var other =
        List.of("setpriv", "--reuid", "12345", "--clear-groups", "/usr/bin/python3", "-c", script);
    var words = new ArrayList<>(other);
    words.add(socket.toString());
    assertThat(new ProcessBuilder(words).start().waitFor()).isZero();
    assertThat(begun()).isEqualTo(before);
    Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
    Files.setPosixFilePermissions(DAEMON.home(), PosixFilePermissions.fromString("rwx------"));
  }

  // --- fronts that go away ---

  @Test
  void aKilledFrontLeavesNothing() throws Exception {
    Process front = DAEMON.ebb().start("run", "--", "sleep", "86401");
    awaitRunning(true, "sleep 86401");
    front.destroyForcibly().waitFor();
    awaitRunning(false, "sleep 86401");
    awaitNoFront();
    try (EbbClient client = EbbClient.connect(DAEMON.home().resolve("ebb.sock"))) {
      await()
          .atMost(DaemonProcess.PATIENCE)
          .untilAsserted(() -> assertThat(client.boxes().list(BoxQuery.all())).isEmpty());
    }
  }

  @Test
  void aFrontThatOnlyWatchesIsForgottenWhenItIsKilled() throws Exception {
    Process events = DAEMON.ebb().start("events");
    await().atMost(DaemonProcess.PATIENCE).until(() -> DAEMON.gauge("ebb_fronts") == 1);
    events.destroyForcibly().waitFor();
    awaitNoFront();
  }

  @Test
  void aStoppedFrontHoldsUpNobodyElse() throws Exception {
    makeBox("loud");
    Process front = DAEMON.ebb().start("exec", "loud", "yes");
    assertThat(front.inputReader(UTF_8).readLine()).isEqualTo("y");
    signal("STOP", front);
    for (int i = 0; i < 20; i++) {
      var ls = DAEMON.ebb().call("ls", "-q");
      assertThat(ls.code()).isZero();
    }
    signal("CONT", front);
    assertThat(front.inputReader(UTF_8).readLine()).isEqualTo("y");
    signal("INT", front);
    front.getInputStream().transferTo(OutputStream.nullOutputStream());
    assertThat(front.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(front.exitValue()).isEqualTo(130);
    awaitNoFront();
  }

  @Test
  void aReaderThatIsSlowOrGoneHoldsUpNobodyElse() throws Exception {
    makeBox("full");
    Process unread = DAEMON.ebb().start("exec", "full", "yes");
    assertThat(unread.inputReader(UTF_8).readLine()).isEqualTo("y");
    assertThat(DAEMON.ebb().call("ls").code()).isZero();
    unread.getInputStream().close();
    assertThat(unread.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(unread.exitValue()).isEqualTo(141);
    awaitNoFront();
  }

  @Test
  void whatIsTypedWhileItIsStoppedGoesToTheShell() throws Exception {
    makeBox("job");
    Path started = directory.resolve("started");
    var builder =
        new ProcessBuilder(
            "python3",
            "-c",
            STOPPED_JOB,
            TestHost.root().resolve("ebb").toString(),
            "exec",
            "-i",
            "job",
            "cat");
    builder.environment().put("EBB_HOME", DAEMON.home().toString());
    builder.environment().put("EBB_BUILD", "never");
    builder.environment().put("STARTED", started.toString());
    Process shell = builder.start();
    awaitRunning(true, "cat");
    await().atMost(DaemonProcess.PATIENCE).until(() -> DAEMON.gauge("ebb_fronts") == 1);
    Files.createFile(started);
    String said = new String(shell.getInputStream().readAllBytes(), UTF_8);
    assertThat(said).contains("the shell read secret");
    assertThat(DAEMON.ebb().call("logs", "job").text()).isEmpty();
    awaitNoFront();
  }

  @Test
  void manyFrontsNeedNoThreads() throws Exception {
    assertThat(DAEMON.ebb().call("ls").code()).isZero();
    int before = DAEMON.threads();
    var fronts = new ArrayList<Process>();
    for (int i = 0; i < 30; i++) {
      fronts.add(DAEMON.ebb().start("events"));
    }
    await().atMost(DaemonProcess.PATIENCE).until(() -> DAEMON.gauge("ebb_fronts") == 30);
    assertThat(DAEMON.threads()).isLessThan(before + 8);
    fronts.forEach(Process::destroyForcibly);
    awaitNoFront();
  }

  // --- what no front sends ---

  private static SocketChannel connect() throws IOException {
    return SocketChannel.open(UnixDomainSocketAddress.of(DAEMON.home().resolve("ebb.sock.cli")));
  }

  private static void send(SocketChannel to, char kind, String content) throws IOException {
    byte[] bytes = content.getBytes(UTF_8);
    var message = ByteBuffer.allocate(5 + bytes.length);
    message.put((byte) kind).putInt(bytes.length).put(bytes).flip();
    while (message.hasRemaining()) {
      to.write(message);
    }
  }

  /** Returns the kind of the next message, or 0 at the end. */
  private static char kind(SocketChannel from) throws IOException {
    var head = ByteBuffer.allocate(5);
    try {
      while (head.hasRemaining()) {
        if (from.read(head) < 0) {
          return 0;
        }
      }
    } catch (SocketException e) {
      // It was closed before it had read all of ours.
      return 0;
    }
    return (char) head.flip().get();
  }

  private static String hello(String build, String... words) throws IOException {
    return String.join("\0", build, "/", "0", "0", "0", Integer.toString(words.length))
        + "\0"
        + String.join("\0", words)
        + "\0EBB_HOME="
        + DAEMON.home()
        + "\0";
  }

  private static String build() throws IOException {
    return Files.readString(TestHost.root().resolve("dist/target/ebb/build")).strip();
  }

  @Test
  void anotherBuildIsRefused() throws Exception {
    try (SocketChannel front = connect()) {
      send(front, 'H', hello("another", "version"));
      assertThat(kind(front)).isEqualTo('N');
    }
    try (SocketChannel front = connect()) {
      send(front, 'H', hello(build(), "version"));
      assertThat(kind(front)).isEqualTo('Y');
      send(front, 'G', "");
      assertThat(kind(front)).isEqualTo('P');
    }
  }

  @Test
  void whatNeedsAProcessIsRefused() throws Exception {
    for (String command : List.of("serve", "purge", "torture", "soak", "doctor", "mcp")) {
      try (SocketChannel front = connect()) {
        send(front, 'H', hello(build(), command));
        assertThat(kind(front)).as(command).isEqualTo('N');
      }
    }
  }

  /** It has given up, and runs the command by itself. */
  @Test
  void withoutGoNothingBegins() throws Exception {
    try (SocketChannel front = connect()) {
      send(front, 'H', hello(build(), "create", "--name", "twice"));
      assertThat(kind(front)).isEqualTo('Y');
    }
    awaitNoFront();
    assertThat(DAEMON.ebb().call("ls", "-q").text()).isEmpty();
  }

  @Test
  void nonsenseEndsItsConnectionAndNothingElse() throws Exception {
    var nonsense =
        List.of(
            new byte[] {'H', 127, -1, -1, -1},
            new byte[] {'H', -1, -1, -1, -1},
            new byte[] {'H', 0, 0, 0, 2, 'x', 0},
            new byte[] {'Q', 0, 0, 0, 0},
            "GET / HTTP/1.1\r\n\r\n".getBytes(UTF_8));
    for (byte[] bytes : nonsense) {
      try (SocketChannel front = connect()) {
        front.write(ByteBuffer.wrap(bytes));
        assertThat(kind(front)).isEqualTo((char) 0);
      }
    }
    try (SocketChannel front = connect()) {
      send(front, 'H', hello(build(), "events"));
      assertThat(kind(front)).isEqualTo('Y');
      send(front, 'G', "");
      // What was not asked for is dropped; a message that is too long ends it.
      for (char kind : "IUSWFDQ".toCharArray()) {
        send(front, kind, "\7");
        send(front, kind, "");
      }
      front.write(ByteBuffer.wrap(new byte[] {'I', 0, 2, 0, 0}));
      assertThat(kind(front)).isEqualTo((char) 0);
    }
    awaitNoFront();
    assertThat(DAEMON.ebb().call("version").code()).isZero();
  }

  @Test
  void aSilentConnectionIsClosed() throws Exception {
    try (SocketChannel front = connect()) {
      long start = System.nanoTime();
      assertThat(kind(front)).isEqualTo((char) 0);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(40));
    }
    awaitNoFront();
  }
}
