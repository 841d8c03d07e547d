package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Limits;
import dev.ebb.client.Output;
import dev.ebb.client.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Code in every language that this host has. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonCodeAcceptanceTest {
  /**
   * One language, and what its programs look like.
   *
   * @param echo copies stdin to stdout, writes the arguments, a line each, and is not ASCII
   * @param fail ends with 3
   * @param broken makes no sense
   * @param busy never ends
   */
  private record Sample(String echo, String fail, String broken, String busy) {}

  private static final Map<String, Sample> SAMPLES =
      Map.of(
          "python",
              new Sample(
                  "import sys\nprint(sys.stdin.read() + 'ü')\nprint('\\n'.join(sys.argv[1:]))",
                  "import sys\nsys.exit(3)",
                  "def (:\n",
                  "while True: pass"),
          "javascript",
              new Sample(
                  "const all = require('fs').readFileSync(0, 'utf8');\n"
                      + "console.log(all + 'ü');\nconsole.log(process.argv.slice(2).join('\\n'));",
                  "process.exit(3)",
                  "function (",
                  "for (;;);"),
          "bash",
              new Sample(
                  "cat; echo ü; for a; do echo \"$a\"; done",
                  "exit 3",
                  "if then",
                  "while :; do :; done"),
          "c",
              new Sample(
                  "#include <stdio.h>\nint main(int n, char **v) { int c; while ((c = getchar()) != EOF)"
                      + " putchar(c); puts(\"ü\"); for (int i = 1; i < n; i++) puts(v[i]); }",
                  "int main(void) { return 3; }",
                  "int main(void) { return",
                  "int main(void) { for (;;); }"),
          "perl",
              new Sample(
                  "print while <STDIN>; print \"ü\\n\"; print \"$_\\n\" for @ARGV;",
                  "exit 3;",
                  "print (((;",
                  "1 while 1;"));

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private EbbClient client;

  @BeforeEach
  void connect() throws Exception {
    client = daemon.client();
  }

  private Sample sample(String language) throws IOException {
    boolean isThere =
        client.languages().objects("languages").stream()
            .anyMatch(each -> isAvailable(each, language));
    assumeThat(isThere).as("host lacks the tools of " + language).isTrue();
    return requireNonNull(SAMPLES.get(language));
  }

  private static boolean isAvailable(JsonObject document, String language) {
    try {
      return document.string("name").equals(language) && document.isTrue("available");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private CodeResult run(String language, String code) throws IOException {
    return client.run(Code.of(language, code));
  }

  @ParameterizedTest
  @ValueSource(strings = {"python", "javascript", "bash", "c", "perl"})
  void eachLanguageReadsWritesFailsAndIsStopped(String language) throws Exception {
    Sample sample = sample(language);
    CodeResult echo =
        client.run(
            Code.of(language, sample.echo)
                .withArguments("one", "two ü")
                .withStdin(Output.of("in ")));
    assertThat(echo.outcome()).as(echo.stderr().text()).isEqualTo("ok");
    assertThat(echo.stdout().text()).isEqualToIgnoringWhitespace("in ü one two ü");
    assertThat(requireNonNull(echo.certificate()).clean()).isTrue();
    CodeResult failed = run(language, sample.fail);
    assertThat(failed.outcome()).isEqualTo("failed");
    assertThat(failed.exitCode()).isEqualTo(3);
    CodeResult broken = run(language, sample.broken);
    assertThat(broken.outcome()).as(broken.stderr().text()).isEqualTo("compile-error");
    assertThat(broken.stderr().text()).isNotEmpty();
    CodeResult busy = client.run(Code.of(language, sample.busy).withTimeout(Duration.ofSeconds(1)));
    assertThat(busy.outcome()).isEqualTo("timed-out");
    assertThat(busy.phase()).isEqualTo("run");
  }

  @Test
  void theOutputUpToATimeoutIsKeptAndMemoryIsLimited() throws Exception {
    CodeResult late =
        client.run(
            Code.of("python", "print('so far', flush=True)\nwhile True: pass")
                .withTimeout(Duration.ofSeconds(1)));
    assertThat(late.outcome()).isEqualTo("timed-out");
    assertThat(late.stdout().text()).isEqualTo("so far\n");
    CodeResult large =
        client.run(
            Code.of("python", "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1")
                .withLimits(new Limits(64L << 20, 64, null, null)));
    assertThat(large.outcome()).isIn("out-of-memory", "failed");
    CodeResult dead = run("python", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)");
    assertThat(dead.outcome()).isEqualTo("killed");
  }

  @Test
  void filesGoInAndThoseThatAreNewOrChangedAreListed() throws Exception {
    String code =
        """
        import os, tool
        os.makedirs('out/deep')
        open('out/deep/a.txt', 'w').write(tool.words)
        open('changed.txt', 'a').write(' more')
        open('plot.png', 'wb').write(b'\\x89PNG\\xff')
        os.symlink('/etc/passwd', 'link.txt')
        os.mkfifo('fifo.txt')
        """;
    CodeResult result =
        client.run(
            Code.of("python", code)
                .withFile("tool.py", Output.of("words = 'hello'"))
                .withFile("same.txt", Output.of("same"))
                .withFile("changed.txt", Output.of("some"))
                .withOutputs("**/*.txt", "*.{txt,png}"));
    assertThat(result.outcome()).as(result.stderr().text()).isEqualTo("ok");
    assertThat(result.files())
        .extracting(CodeResult.File::path)
        .containsExactlyInAnyOrder("changed.txt", "plot.png", "out/deep/a.txt");
    for (CodeResult.File file : result.files()) {
      assertThat(file.content()).as(file.path()).isNotNull();
    }
    assertThat(content(result, "changed.txt").text()).isEqualTo("some more");
    assertThat(content(result, "out/deep/a.txt").text()).isEqualTo("hello");
    assertThat(content(result, "plot.png").bytes()).endsWith(0xff);
  }

  private static Output content(CodeResult result, String path) {
    return requireNonNull(
        result.files().stream()
            .filter(file -> file.path().equals(path))
            .findFirst()
            .orElseThrow()
            .content());
  }

  @Test
  void whatIsUnknownOrWrongIsRefusedWithTheKnownOnes() throws Exception {
    var refusals = new ArrayList<EbbException>();
    for (Code code : List.of(Code.of("klingon", "x"), Code.of("python", "1").withOutputs("["))) {
      refusals.add(catchThrowableOfType(EbbException.class, () -> client.run(code)));
    }
    assertThat(refusals).extracting(EbbException::status).containsExactly(400, 400);
    assertThat(refusals.getFirst().detail()).contains("klingon").contains("python, ");
    assertThat(refusals.getLast().detail()).contains("\"[\" is no glob");
  }

  @Test
  void aMegabyteComesBackWhole() throws Exception {
    CodeResult result = run("python", "print('x' * 999_999)");
    assertThat(result.stdout().bytes()).hasSize(1_000_000);
    assertThat(result.outcome()).isEqualTo("ok");
  }

  @Test
  void theVersionsOfWhatIsThereAreTold() throws Exception {
    for (JsonObject each : client.languages().objects("languages")) {
      if (each.isTrue("available")) {
        assertThat(each.string("version")).as(each.string("name")).matches("\\d+(\\.\\d+)+");
      } else {
        assertThat(each.strings("missing")).isNotEmpty();
      }
    }
  }
}
