package dev.ebb.cli.output;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cli.AllVerbs;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Output of a box cannot control the user's terminal. */
@Timeout(120)
class PlainTest {
  private static final String EVIL = "a\u001b[2J\u0007\u009b31m\u007f\u202eb\r";

  private static String printed(String text, Charset charset, int piece) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var printer = Plain.printer(bytes, charset);
    byte[] all = text.getBytes(UTF_8);
    for (int i = 0; i < all.length; i += piece) {
      printer.write(all, i, Math.min(piece, all.length - i));
    }
    printer.flush();
    return bytes.toString(charset);
  }

  @Test
  void aControlCharacterIsShownAndNotObeyed() throws IOException {
    for (int piece : new int[] {1, 2, 3, 1000}) {
      assertThat(printed(EVIL + "\u00e9\ud83d\ude00\n\t", UTF_8, piece))
          .isEqualTo("a\\u001b[2J\\u0007\\u009b31m\\u007f\\u202eb\\u000d\u00e9\ud83d\ude00\n\t");
    }
    assertThat(printed("\u009b\u00e9", ISO_8859_1, 1)).isEqualTo("\\u009b\u00e9");
    assertThat(printed("x".repeat(50_000) + "\u001b", UTF_8, 50_001)).hasSize(50_006);
  }

  @Test
  void aLogOnATerminalKeepsItsTextAndLosesItsControls() throws IOException {
    var shown = new ByteArrayOutputStream();
    Plain.log(shown, true).write("50 %\r100 %\r\n\u001b]0;title\u0007".getBytes(UTF_8));
    assertThat(shown.toString(UTF_8)).isEqualTo("50 %\r100 %\r\n\\u001b]0;title\\u0007");
    var raw = new ByteArrayOutputStream();
    Plain.log(raw, false).write(new byte[] {27, (byte) 0x9b, 0});
    assertThat(raw.toByteArray()).containsExactly(27, 0x9b, 0);
  }

  @Test
  void noCellHoldsAControlOfEitherSet() {
    assertThat(Table.clean(EVIL + "\n\t")).isEqualTo("a?[2J??31m??b???");
  }

  /** Whatever else writes by itself writes what a command in the foreground wrote. */
  @Test
  void onlyStreamsOfCommandsPassItBy() throws IOException {
    Set<String> streams =
        Set.of(
            "Caller.java",
            "OwnProcess.java",
            "FrontCaller.java",
            "AttachedRun.java",
            "CodeCommand.java",
            "ContextCommand.java",
            "CopyCommand.java",
            "ExecCommand.java",
            "LogsCommand.java",
            "McpBridge.java",
            "RunCommand.java",
            "TerminalAttachment.java");
    var passing = new TreeSet<String>();
    try (Stream<Path> sources = Files.walk(TestHost.root().resolve("cli/src/main/java"))) {
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
        String text = Files.readString(source);
        if (text.contains("rawOut()") || text.contains("rawErr()")) {
          passing.add(source.getFileName().toString());
        }
      }
    }
    assertThat(passing).isEqualTo(streams);
  }

  /** Every command that calls a daemon, with a server that sends what a hostile box would. */
  @Test
  void noVerbPassesOnWhatAnAnswerHolds(@TempDir Path directory) throws Exception {
    Path verbs =
        Files.write(
            directory.resolve("verbs"),
            List.of(
                "ls",
                "ls -q",
                "ls --json",
                "ps b",
                "ps --json b",
                "top --no-stream b",
                "inspect b",
                "inspect --json b",
                "stats --no-stream",
                "logs b 1",
                "wait b 1",
                "kill b 1",
                "kill-all b",
                "stop b",
                "rm b",
                "rm --json b",
                "pause b",
                "resume b",
                "network b none",
                "exec b true",
                "exec --json b true",
                "create",
                "create --json",
                "languages",
                "pressure",
                "pool",
                "why b",
                "events",
                "code python -c 1",
                "context ls b",
                "cp b:/x " + directory.resolve("x"),
                "cp " + verbs(directory) + " b:/x"));
    try (var daemon = new HostileDaemon();
        ChildJvm jvm =
            ChildJvm.startUnder(
                List.of("/usr/bin/env", "EBB_URL=http://127.0.0.1:" + daemon.port(), "EBB_KEY=k"),
                AllVerbs.class,
                verbs.toString())) {
      jvm.awaitExit(Duration.ofSeconds(90));
      // A control character of the second set has two bytes in UTF-8.
      String said = new String(jvm.describe().getBytes(ISO_8859_1), UTF_8);
      assertThat(said).contains("\\u001b[2J").contains("-- cp " + verbs(directory));
      assertThat(daemon.asked()).isGreaterThan(20);
      assertThat(said.chars().filter(c -> c != '\n' && c != '\t' && Character.isISOControl(c)))
          .as(said)
          .isEmpty();
    }
  }

  private static Path verbs(Path directory) {
    return directory.resolve("verbs");
  }

  /** Answers every request in the same way. */
  private static final class HostileDaemon implements AutoCloseable {
    private static final String WORD = "a\\u001b[2J\\u0007\u009b31m\u007f\u202eb\\r";
    private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final AtomicInteger asked = new AtomicInteger();

    HostileDaemon() throws IOException {
      Thread.ofPlatform().daemon().name("hostile-daemon").start(this::serve);
    }

    int port() {
      return socket.getLocalPort();
    }

    int asked() {
      return asked.get();
    }

    private void serve() {
      while (!socket.isClosed()) {
        try (Socket caller = socket.accept()) {
          var head = new StringBuilder();
          while (head.indexOf("\r\n\r\n") < 0) {
            int c = caller.getInputStream().read();
            if (c < 0) {
              break;
            }
            head.append((char) c);
          }
          asked.incrementAndGet();
          caller.getOutputStream().write(answer(head.toString()));
          caller.getOutputStream().flush();
          caller.shutdownOutput();
        } catch (IOException e) {
          // The caller has gone, or we are closed.
        }
      }
    }

    private static byte[] answer(String head) {
      boolean isToTell = head.startsWith("GET") && asksForBoxes(head);
      String body =
          isToTell
              ? """
              {"boxes": [{"id": "W", "name": "W", "tenant": "W", "state": "running", "labels": {"W": "W"},
                "limits": {"memoryBytes": 1, "pids": 1, "cpus": 1, "diskBytes": 1}, "network": "none", "mounts": [],
                "packages": [], "detached": false, "createdAt": "2026-01-01T00:00:00Z", "holdings": []}]}
              """
                  .replace("W", WORD)
              : """
              {"type": "about:blank", "title": "W", "status": 404, "code": "not-found", "detail": "W", "hint": "W"}
              """
                  .replace("W", WORD);
      byte[] content = body.getBytes(UTF_8);
      String type = isToTell ? "application/json" : "application/problem+json";
      String start =
          "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
              .formatted(isToTell ? "200 OK" : "404 Not Found", type, content.length);
      var out = new ByteArrayOutputStream();
      out.writeBytes(start.getBytes(ISO_8859_1));
      out.writeBytes(content);
      return out.toByteArray();
    }

    private static boolean asksForBoxes(String head) {
      return head.startsWith("GET /v1/boxes ") || head.startsWith("GET /v1/boxes?");
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
