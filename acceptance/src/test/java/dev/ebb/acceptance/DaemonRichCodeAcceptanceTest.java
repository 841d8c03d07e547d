package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellEvent;
import dev.ebb.client.CellFollowing;
import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Output;
import dev.ebb.client.RichResult;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Code that an interpreter runs, with files in and out: in a context, or in one of its own. */
@Tag("kernel")
@LeakChecked
@Timeout(240)
final class DaemonRichCodeAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;
  private String box;

  @BeforeEach
  void makeABox() throws Exception {
    client = DAEMON.client();
    box = client.boxes().create(BoxRequest.defaults()).id();
  }

  @AfterEach
  void removeTheBox() throws Exception {
    assertThat(client.boxes().remove(box, true).clean()).isTrue();
    client.close();
  }

  private String context(String language) throws IOException {
    return client.contexts(box).create(ContextRequest.of(language)).id();
  }

  private EbbException refusal(Code code) {
    return requireNonNull(
        catchThrowableOfType(EbbException.class, () -> client.runRich(code)), "not refused");
  }

  private static String plain(RichResult result) {
    return requireNonNull(result.cell().result().get("text/plain")).text();
  }

  // --- in a context ---

  @Test
  void codeInAContextKeepsItsStateAndReturnsItsFiles() throws Exception {
    String python = context("python");
    RichResult first =
        client.runRich(
            Code.inContext(box, python, "x = int(open('in.txt').read())\nprint('read')")
                .withFile("in.txt", Output.of("41")));
    assertThat(first.outcome()).as(first.cell().document().toString()).isEqualTo("ok");
    assertThat(first.cell().stdout().text()).isEqualTo("read\n");
    assertThat(first.files()).as("what it was given is not what it wrote").isEmpty();
    assertThat(first.certificate()).as("the box stays").isNull();
    RichResult second =
        client.runRich(
            Code.inContext(box, python, "open('out.txt', 'w').write('hi')\nx + 1")
                .withOutputs("*.txt"));
    assertThat(plain(second)).isEqualTo("42");
    assertThat(second.files()).hasSize(1);
    CodeResult.File file = second.files().get(0);
    assertThat(file.path()).isEqualTo("out.txt");
    assertThat(file.type()).isEqualTo("text/plain");
    assertThat(requireNonNull(file.content()).text()).isEqualTo("hi");
    RichResult third = client.runRich(Code.inContext(box, python, "1 / 0"));
    assertThat(third.outcome()).isEqualTo("error");
    assertThat(requireNonNull(third.cell().error()).name()).isEqualTo("ZeroDivisionError");
    assertThat(third.files()).isEmpty();
  }

  @Test
  void aTimeoutInterruptsAndTheStateStays() throws Exception {
    String python = context("python");
    RichResult late =
        client.runRich(
            Code.inContext(box, python, "x = 1\nprint('so far')\nwhile True: pass")
                .withTimeout(TestHost.patience(Duration.ofSeconds(3))));
    assertThat(late.outcome()).isEqualTo("timed-out");
    assertThat(late.cell().stdout().text()).isEqualTo("so far\n");
    assertThat(plain(client.runRich(Code.inContext(box, python, "x")))).isEqualTo("1");
  }

  @Test
  void theEndOfAnInterpreterIsReportedWithItsCauseAndOutput() throws Exception {
    String bash = context("bash");
    RichResult last = client.runRich(Code.inContext(box, bash, "echo hi > out.txt; exit 3"));
    assertThat(last.outcome()).isEqualTo("died");
    assertThat(requireNonNull(last.cell().cause()).code()).isEqualTo(3);
    assertThat(last.files()).extracting(CodeResult.File::path).containsExactly("out.txt");
  }

  @Test
  void whatMakesNoSenseIsRefusedBeforeAnythingIsWritten() throws Exception {
    String python = context("python");
    Code code = Code.inContext(box, python, "1").withFile("never.txt", Output.of(""));
    assertThat(refusal(code.withArguments("a")).code()).isEqualTo("bad-request");
    assertThat(refusal(code.withArguments("a")))
        .hasMessageContaining("unknown field \"args\"; known here: code, context");
    assertThat(refusal(Code.inContext(box, "c77", "1")).code()).isEqualTo("not-found");
    assertThat(refusal(Code.inContext("nobox", python, "1")).code()).isEqualTo("not-found");
    var listed = client.run(Code.of("bash", "ls").withFile("there.txt", Output.of("")));
    assertThat(listed.stdout().text()).isEqualTo("main.sh\nthere.txt\n");
    RichResult seen = client.runRich(Code.inContext(box, python, "import os\nos.listdir('.')"));
    assertThat(plain(seen)).isEqualTo("[]");
  }

  // --- alone ---

  @Test
  void figuresAndFramesComeBackWithoutAContext() throws Exception {
    RichResult drawn =
        client.runRich(
            Code.of(
                "python",
                """
                import pandas, matplotlib.pyplot as plt
                plt.plot([1, 2, 3])
                open('a.txt', 'w').write('hi')
                pandas.DataFrame({'a': [1, 2]})
                """));
    assertThat(drawn.outcome()).as(drawn.cell().document().toString()).isEqualTo("ok");
    assertThat(drawn.cell().displays()).hasSize(1);
    assertThat(requireNonNull(drawn.cell().displays().get(0).get("image/png")).bytes())
        .startsWith((byte) 0x89, (byte) 'P', (byte) 'N', (byte) 'G');
    assertThat(requireNonNull(drawn.cell().result().get("text/html")).text()).contains("<table");
    assertThat(drawn.files()).extracting(CodeResult.File::path).contains("a.txt");
    assertReleased(drawn);
    assertThat(client.boxes().list(BoxQuery.all())).as("its box is gone").hasSize(1);
  }

  @Test
  void thereAreNoFiguresOfWhatHasNoInterpreter() throws Exception {
    EbbException refused = refusal(Code.of("c", "int main(void) { return 0; }"));
    assertThat(refused.code()).isEqualTo("bad-request");
    assertThat(refused).hasMessageContaining("only of python, javascript, bash");
    assertThat(client.boxes().list(BoxQuery.all())).hasSize(1);
  }

  /** A caller that hangs up ends code and box. */
  @Test
  void aCallerThatDisconnectsEndsAllOfIt() throws Exception {
    Code endless = Code.of("python", "print('up')\nwhile True: pass");
    try (CellFollowing following = client.runRichAndFollow(endless)) {
      CellEvent event = following.next().orElseThrow();
      while (!(event instanceof CellEvent.Wrote)) {
        event = following.next().orElseThrow();
      }
      assertThat(client.boxes().list(BoxQuery.all())).hasSize(2);
    }
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.boxes().list(BoxQuery.all()).size() == 1);
  }

  @Test
  void whatIsFollowedComesAsItIsMadeAndItsFilesAtLast() throws Exception {
    Code code = Code.of("python", "print('a')\ndisplay(1)\nopen('b', 'w').close()\n2");
    var kinds = new ArrayList<String>();
    RichResult last = null;
    try (CellFollowing following = client.runRichAndFollow(code)) {
      for (var next = following.next(); next.isPresent(); next = following.next()) {
        switch (next.get()) {
          case CellEvent.Ordered(var _) -> kinds.add("ordered");
          case CellEvent.Wrote(var _, var out) -> kinds.add(out.text());
          case CellEvent.Showed(var isResult, var _) -> kinds.add(isResult ? "result" : "display");
          case CellEvent.Ended(var result) -> last = RichResult.of(result);
        }
      }
    }
    assertThat(kinds).containsExactlyInAnyOrder("ordered", "a\n", "display", "result");
    assertThat(requireNonNull(last).files()).extracting(CodeResult.File::path).containsExactly("b");
    assertReleased(last);
  }

  private void assertReleased(RichResult result) throws Exception {
    String box = result.cell().document().string("box");
    var certificate = client.awaitRelease(box, DaemonProcess.PATIENCE).certificate();
    assertThat(requireNonNull(certificate).clean()).isTrue();
  }
}
