package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.json.Json;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code ebb context}. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
class DaemonContextCliAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  @TempDir Path directory;

  @BeforeEach
  void makeABox() throws Exception {
    try (var client = DAEMON.client()) {
      client.boxes().create(BoxRequest.defaults().withName("box"));
    }
  }

  @AfterEach
  void removeTheBox() throws Exception {
    assertThat(call("rm", "-f", "box").code()).isZero();
  }

  private static Ebb.Outcome call(String... words) throws Exception {
    return DAEMON.ebb().call(words);
  }

  @Test
  void stateStaysFromOneCallToTheNext() throws Exception {
    var made = call("context", "create", "box", "python", "--name", "mine", "-e", "A=b");
    assertThat(made.text()).as(made.stderr()).isEqualTo("c1\n");
    assertThat(call("context", "run", "box", "mine", "x = 20; print('hi')").text())
        .isEqualTo("hi\n");
    var value = DAEMON.ebb().call("x + 1".getBytes(UTF_8), "context", "run", "box", "c1", "-");
    assertThat(value.text()).isEqualTo("21\n");
    Path file = Files.writeString(directory.resolve("a.py"), "import os\nos.environ['A']");
    assertThat(call("context", "run", "-f", file.toString(), "box", "c1").text())
        .isEqualTo("'b'\n");
    assertThat(call("context", "ls", "box").text()).contains("c1", "mine", "python", "idle");
    var json = Json.readObject(call("context", "run", "--json", "box", "c1", "x").text());
    assertThat(json.object("result").object("text/plain").string("text")).isEqualTo("20");

    var thrown = call("context", "run", "box", "c1", "1 / 0");
    assertThat(thrown.stderr()).contains("ZeroDivisionError").doesNotContain("<ebb>");
    assertThat(thrown.code()).isEqualTo(1);
    var picture = "class P:\n    def _repr_png_(self): return b'png'\nP()";
    call("context", "run", "--to", directory.toString(), "box", "c1", picture);
    assertThat(directory.resolve("1.png")).hasContent("png");
    call("context", "restart", "box", "c1");
    assertThat(call("context", "run", "box", "c1", "x").stderr()).contains("NameError");
    var died = call("context", "run", "box", "c1", "exit(7)");
    assertThat(died.stderr()).isEqualTo("ebb: the context has ended: exited\n");
    assertThat(died.code()).isEqualTo(7);
    assertThat(call("context", "rm", "box", "c1").code()).isZero();
    assertThat(call("context", "run", "box", "c1", "x").stderr()).contains("no context \"c1\"");
    assertThat(call("context", "run", "box").stderr()).contains("does not take 1 arguments");
  }

  @Test
  void aCellIsInterruptedByTheDeathOfItsClientAndByOtherClients() throws Exception {
    call("context", "create", "box", "bash");
    Process first = DAEMON.ebb().start("context", "run", "box", "c1", "x=5; sleep 1000");
    await().atMost(DaemonProcess.PATIENCE).until(() -> isInState("busy"));
    first.destroyForcibly().waitFor();
    await().atMost(DaemonProcess.PATIENCE).until(() -> isInState("idle"));
    Process second = DAEMON.ebb().start("context", "run", "box", "c1", "sleep 1000");
    await().atMost(DaemonProcess.PATIENCE).until(() -> isInState("busy"));
    assertThat(call("context", "interrupt", "box", "c1").code()).isZero();
    assertThat(second.waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(second.exitValue()).isEqualTo(130);
    assertThat(call("context", "run", "box", "c1", "echo $x; (exit 4)").code()).isEqualTo(4);
  }

  private static boolean isInState(String state) throws Exception {
    return call("context", "ls", "box").text().contains(state);
  }
}
