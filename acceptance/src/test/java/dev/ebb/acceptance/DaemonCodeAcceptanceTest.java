package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.acceptance.LanguageSamples.Sample;
import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Limits;
import dev.ebb.client.Output;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Code in every language that this host has. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonCodeAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;

  @BeforeEach
  void connect() throws Exception {
    client = DAEMON.client();
  }

  @AfterEach
  void disconnect() {
    client.close();
  }

  static Set<String> languages() {
    return LanguageSamples.ALL.keySet();
  }

  private Sample sample(String language) throws IOException {
    boolean isThere =
        client.languages().objects("languages").stream()
            .anyMatch(each -> isAvailable(each, language));
    assumeTrue(isThere, "host lacks the tools of " + language);
    return requireNonNull(LanguageSamples.ALL.get(language));
  }

  @Test
  void thereAreSamplesOfAllLanguages() throws Exception {
    var names = new TreeSet<String>();
    for (JsonObject each : client.languages().objects("languages")) {
      names.add(each.string("name"));
    }
    assertThat(languages()).isEqualTo(names);
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
  @MethodSource("languages")
  void eachLanguageReadsWritesFailsAndIsStopped(String language) throws Exception {
    Sample sample = sample(language);
    CodeResult echo =
        client.runAndRelease(
            Code.of(language, sample.echo())
                .withArguments("one", "two ü")
                .withStdin(Output.of("in ")));
    assertThat(echo.outcome()).as(echo.stderr().text()).isEqualTo("ok");
    assertThat(echo.stdout().text()).isEqualToIgnoringWhitespace("in ü one two ü");
    assertThat(requireNonNull(echo.certificate()).clean()).isTrue();
    CodeResult failed = run(language, sample.fail());
    assertThat(failed.outcome()).isEqualTo("failed");
    assertThat(failed.exitCode()).isEqualTo(3);
    CodeResult broken = run(language, sample.broken());
    assertThat(broken.outcome()).as(broken.stderr().text()).isEqualTo("compile-error");
    assertThat(broken.stderr().text()).isNotEmpty();
    CodeResult much = run(language, sample.much());
    assertThat(much.stdout().bytes()).as(much.stderr().text()).hasSize(1_000_000);
  }

  /** Enough time to begin on a busy host: some languages compile first, in the same command. */
  private static Duration time(String language) {
    return Duration.ofSeconds(language.matches("java|typescript|r") ? 10 : 3);
  }

  @ParameterizedTest
  @MethodSource("languages")
  void eachLanguageIsStoppedAtItsLimits(String language) throws Exception {
    Sample sample = sample(language);
    CodeResult busy =
        client.run(Code.of(language, sample.busy()).withTimeout(TestHost.patience(time(language))));
    assertThat(busy.outcome()).isEqualTo("timed-out");
    assertThat(busy.phase()).isEqualTo("run");
    assertThat(busy.stdout().text()).as("so far").isEqualTo("up\n");
    CodeResult hungry =
        client.run(
            Code.of(language, sample.hungry()).withLimits(new Limits(256L << 20, 64, null, null)));
    assertThat(hungry.phase()).isEqualTo("run");
    if (Feature.CGROUPS.isPresent()) {
      assertThat(hungry.outcome()).as(hungry.stderr().text()).isEqualTo("out-of-memory");
    } else {
      assertThat(hungry.outcome()).isIn("out-of-memory", "failed", "killed");
    }
  }

  /** Init is the first, and without cgroups each command has a subreaper. */
  @Test
  void aShortProgramNeedsNoProcessBesideItsOwn() throws Exception {
    int expected = Feature.CGROUPS.isPresent() ? 2 : 3;
    CodeResult result = run("bash", "echo $$");
    assertThat(result.stdout().text()).isEqualTo(expected + "\n");
    assertThat(result.files()).isEmpty();
  }

  @Test
  void theOutputUpToATimeoutIsKeptAndMemoryIsLimited() throws Exception {
    CodeResult late =
        client.run(
            Code.of("python", "print('so far', flush=True)\nwhile True: pass")
                .withTimeout(TestHost.patience(Duration.ofSeconds(3))));
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
    assertThat(refusals.getLast().detail()).contains("\"outputs\": \"[\": a glob knows");
  }

  @Test
  void theVersionsOfInstalledLanguagesAreListed() throws Exception {
    for (JsonObject each : client.languages().objects("languages")) {
      if (each.isTrue("available")) {
        assertThat(each.string("version")).as(each.string("name")).matches("\\d+(\\.\\d+)+");
      } else {
        assertThat(each.strings("missing")).isNotEmpty();
      }
    }
  }
}
