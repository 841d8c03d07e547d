package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellEvent;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.Context;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Interpreters that keep their state from one cell to the next. */
@Tag("kernel")
@LeakChecked
@Timeout(240)
final class DaemonContextAcceptanceTest extends ContextFixture {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  DaemonContextAcceptanceTest() {
    super(DAEMON);
  }

  private CompletableFuture<CellResult> runAside(String context, String code) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return run(context, code);
          } catch (IOException e) {
            throw new CompletionException(e);
          }
        },
        task -> Thread.ofVirtual().start(task));
  }

  private void awaitState(String context, String state) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> contexts.inspect(context).state().equals(state));
  }

  // --- state ---

  @Test
  void variablesImportsAndTheDirectoryStayInPython() throws Exception {
    String python = create("python");
    CellResult first =
        run(python, "import math, os\nos.chdir('/tmp')\nx = 20\nprint('hello')\nx + 1");
    assertThat(first.outcome()).as(first.document().toString()).isEqualTo("ok");
    assertThat(first.stdout().text()).isEqualTo("hello\n");
    assertThat(plain(first)).isEqualTo("21");
    CellResult second = run(python, "(x, math.pi > 3, os.getcwd())");
    assertThat(plain(second)).isEqualTo("(20, True, '/tmp')");
    assertThat(second.stdout().size()).isZero();
    assertThat(second.number()).isEqualTo(2);
    assertThat(plain(run(python, "import asyncio\nawait asyncio.sleep(0)\nx"))).isEqualTo("20");
    assertThat(run(python, "x;").result()).isEmpty();
    contexts.restart(python);
    assertThat(requireNonNull(run(python, "x").error()).name()).isEqualTo("NameError");
  }

  @Test
  void variablesFunctionsAndTheDirectoryStayInJavascript() throws Exception {
    String node = create("javascript");
    assertThat(plain(run(node, "let x = 1; const y = [2]; process.chdir('/tmp'); x + 1")))
        .isEqualTo("2");
    assertThat(plain(run(node, "let x = 5; const y = { a: x }; y"))).isEqualTo("{ a: 5 }");
    CellResult third = run(node, "console.log(process.cwd()); await Promise.resolve(x)");
    assertThat(third.stdout().text()).isEqualTo("/tmp\n");
    assertThat(plain(third)).isEqualTo("5");
    CellResult failed = run(node, "function f() { null.x }\nf()");
    var thrown = requireNonNull(failed.error());
    assertThat(thrown.name()).isEqualTo("TypeError");
    assertThat(thrown.traceback()).contains("at f (cell-4:1:").doesNotContain("node:", "eval");
    CellResult shown = run(node, "display({'text/html': '<b>'}); undefined");
    assertThat(requireNonNull(shown.displays().getFirst().get("text/html")).text())
        .isEqualTo("<b>");
  }

  @Test
  void variablesFunctionsAndTheDirectoryStayInBash() throws Exception {
    String bash = create("sh");
    assertThat(run(bash, "x=5; f() { echo \"f $1\"; }; cd /tmp").exitCode()).isZero();
    CellResult second = run(bash, "f $x; pwd; echo bad >&2; (exit 3)");
    assertThat(second.stdout().text()).isEqualTo("f 5\n/tmp\n");
    assertThat(second.stderr().text()).isEqualTo("bad\n");
    assertThat(second.outcome()).isEqualTo("failed");
    assertThat(second.exitCode()).isEqualTo(3);
    assertThat(run(bash, "ls -l /proc/self/fd").stdout().text()).doesNotContain("socket:");
  }

  @ParameterizedTest
  @MethodSource("printers")
  void theEnvironmentOfACellIsItsOwn(String language, String code) throws Exception {
    String context =
        contexts.create(ContextRequest.of(language).withEnvironment(Map.of("A", "first"))).id();
    CellResult own =
        contexts.run(
            context, CellRequest.of(code).withEnvironment(Map.of("A", "ü b", "EBB_B", "b")));
    assertThat(own.stdout().text()).as(own.document().toString()).isEqualTo("ü b b\n");
    assertThat(run(context, code).stdout().text()).startsWith("first ").doesNotContain(" b");
  }

  private static Stream<Arguments> printers() {
    return Stream.of(
        Arguments.of("python", "import os\nprint(os.environ['A'], os.environ.get('EBB_B'))"),
        Arguments.of("javascript", "console.log(process.env.A, process.env.EBB_B)"),
        Arguments.of("bash", "echo \"$A ${EBB_B-None}\""));
  }

  // --- order ---

  @Test
  void cellsOfOneContextRunInOrderAndContextsBesideEachOther() throws Exception {
    String one = create("python");
    String other = create("python");
    run(one, "import time\nseen = []");
    var cells = new ArrayList<CompletableFuture<CellResult>>();
    CompletableFuture<CellResult> slow =
        runAside(
            one,
            "while not __import__('os').path.exists('/tmp/go'): time.sleep(0.01)\nseen.append(0)");
    awaitState(one, "busy");
    for (int i = 1; i <= 5; i++) {
      int before = i;
      cells.add(runAside(one, "seen.append(" + i + ")"));
      await().atMost(DaemonProcess.PATIENCE).until(() -> waiting(one) == before);
    }
    // The other one is not kept waiting.
    assertThat(run(other, "open('/tmp/go', 'w').close()").outcome()).isEqualTo("ok");
    slow.get();
    for (var cell : cells) {
      cell.get();
    }
    assertThat(plain(run(one, "seen"))).isEqualTo("[0, 1, 2, 3, 4, 5]");
  }

  /** A cell that runs until there is {@code /tmp/go}. */
  private CompletableFuture<CellResult> block(String python) {
    CompletableFuture<CellResult> blocking =
        runAside(
            python,
            "import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n'went'");
    awaitState(python, "busy");
    return blocking;
  }

  private void awaitWaiting(String context, int count) {
    await().atMost(DaemonProcess.PATIENCE).until(() -> waiting(context) == count);
  }

  @Test
  void aHundredCellsWaitAndNoMoreAndARestartIsTheEndOfThemAll() throws Exception {
    String python = create("python");
    var blocking = block(python);
    var waiting = new ArrayList<CompletableFuture<CellResult>>();
    for (int i = 0; i < 100; i++) {
      waiting.add(runAside(python, "open('/tmp/ran', 'w').close()"));
    }
    awaitWaiting(python, 100);
    var refused = catchThrowableOfType(EbbException.class, () -> run(python, "1"));
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.detail()).contains("100 cells wait");
    contexts.restart(python);
    assertThat(blocking.get().outcome()).isEqualTo("died");
    for (var each : waiting) {
      assertThat(each.get().outcome()).isEqualTo("cancelled");
    }
    assertThat(plain(run(python, "__import__('os').path.exists('/tmp/ran')"))).isEqualTo("False");
    assertThat(client.execs(box).list().stream().filter(exec -> !exec.hasEnded()))
        .as("the interpreter before it is gone")
        .hasSize(1);
  }

  @Test
  void aCallerThatDisconnectsLeavesTheQueue() throws Exception {
    String python = create("python");
    var blocking = block(python);
    String leave = "open('/tmp/left', 'w').close()";
    try (var left = contexts.runAndFollow(python, CellRequest.of(leave))) {
      awaitWaiting(python, 1);
      assertThat(left.next()).isPresent();
    }
    awaitWaiting(python, 0);
    client.files(box).write("/tmp/go", new byte[0]);
    assertThat(plain(blocking.get())).isEqualTo("'went'");
    assertThat(plain(run(python, "os.path.exists('/tmp/left')"))).isEqualTo("False");
  }

  private long waiting(String context) throws IOException {
    return contexts.inspect(context).document().number("waiting");
  }

  // --- what is shown ---

  @Test
  void valuesComeInAllTheirForms() throws Exception {
    String python = create("python");
    CellResult cell =
        run(
            python,
            """
            class Rich:
                def _repr_html_(self): return '<b>ü</b>'
                def _repr_markdown_(self): return '**ü**'
                def _repr_latex_(self): return '$x$'
                def _repr_json_(self): return {'a': [1]}
                def _repr_svg_(self): return '<svg/>'
                def _repr_png_(self): return b'\\x89PNG\\xff'
                def _repr_jpeg_(self): return b'\\xff\\xd8'
                def __repr__(self): return 'rich'
            display(1, Rich())
            Rich()
            """);
    assertThat(cell.outcome()).as(cell.document().toString()).isEqualTo("ok");
    Map<String, String> texts =
        Map.of(
            "text/plain", "rich",
            "text/html", "<b>ü</b>",
            "text/markdown", "**ü**",
            "text/latex", "$x$",
            "application/json", "{\"a\": [1]}",
            "image/svg+xml", "<svg/>");
    texts.forEach(
        (type, text) ->
            assertThat(requireNonNull(cell.result().get(type), type).text()).isEqualTo(text));
    assertThat(requireNonNull(cell.result().get("image/png")).bytes()).endsWith(0xff);
    assertThat(requireNonNull(cell.result().get("image/jpeg")).bytes()).startsWith(0xff, 0xd8);
    assertThat(cell.displays()).hasSize(2).last().isEqualTo(cell.result());
  }

  @Test
  void whatIsWrittenAndShownComesLive() throws Exception {
    String python = create("python");
    var seen = new ArrayList<String>();
    try (var cell =
        contexts.runAndFollow(
            python,
            CellRequest.of(
                """
                import os, sys, time
                print('one')
                display(1)
                while not os.path.exists('/tmp/seen'): time.sleep(0.01)
                os.system('echo two')
                print('three', file=sys.stderr)
                4
                """))) {
      for (var event = cell.next(); event.isPresent(); event = cell.next()) {
        switch (event.get()) {
          case CellEvent.Ordered(var number) -> seen.add("cell " + number);
          case CellEvent.Wrote(var stream, var output) ->
              seen.add(stream.wireName() + " " + output.text().strip());
          case CellEvent.Showed(var isResult, var forms) -> {
            seen.add((isResult ? "result " : "display ") + requireNonNull(forms.get("text/plain")));
            if (!isResult) {
              client.files(box).write("/tmp/seen", new byte[0]);
            }
          }
          case CellEvent.Ended(var result) -> seen.add(result.outcome());
        }
      }
    }
    assertThat(seen)
        .startsWith("cell 1")
        .contains("stdout one", "display 1", "stdout two", "stderr three", "result 4")
        .endsWith("ok");
  }

  @Test
  void figuresComeAsPicturesAndFramesAsTables() throws Exception {
    String python = create("python");
    CellResult figure =
        contexts.run(
            python,
            CellRequest.of(
                    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('made')\nplt.show()\nplt.figure()\nNone")
                .withTimeout(Duration.ofMinutes(2)));
    assertThat(figure.outcome()).as(figure.document().toString()).isEqualTo("ok");
    assertThat(figure.displays()).hasSize(2);
    for (var forms : figure.displays()) {
      assertThat(requireNonNull(forms.get("image/png")).bytes()).startsWith(0x89, 'P', 'N', 'G');
    }
    assertThat(figure.stderr().text()).doesNotContain("interactive");
    CellResult frame =
        contexts.run(
            python,
            CellRequest.of("import pandas\npandas.DataFrame({'a': [1, 2]})")
                .withTimeout(Duration.ofMinutes(2)));
    assertThat(frame.outcome()).as(frame.document().toString()).isEqualTo("ok");
    assertThat(requireNonNull(frame.result().get("text/html")).text()).contains("<table", "<th>a");
    assertThat(plain(frame)).contains("a").contains("1  2");
  }

  @Test
  void anExceptionHasNoFrameOfOurs() throws Exception {
    String python = create("python");
    CellResult cell =
        run(
            python,
            "def f():\n    1 / 0\n\ntry:\n    f()\nexcept Exception as e:\n    raise ValueError('bad') from e");
    assertThat(cell.outcome()).isEqualTo("error");
    var error = requireNonNull(cell.error());
    assertThat(error.name()).isEqualTo("ValueError");
    assertThat(error.value()).isEqualTo("bad");
    assertThat(error.traceback())
        .contains("File \"<cell 1>\", line 2, in f\n    1 / 0", "ZeroDivisionError", "direct cause")
        .doesNotContain("<ebb>", "<string>", "runpy");
    var syntax = requireNonNull(run(python, "def (:\n").error());
    assertThat(syntax.name()).isEqualTo("SyntaxError");
    assertThat(syntax.traceback()).startsWith("  File \"<cell 2>\", line 1\n");
    String shown = "class Bad:\n    def __repr__(self): raise ValueError('in the middle')\n";
    var between = requireNonNull(run(python, shown + "display(Bad())").error());
    assertThat(between.traceback())
        .as("what we call comes after what called us")
        .contains("line 3, in <module>", "line 2, in __repr__")
        .doesNotContain("<ebb>");
    assertThat(plain(run(python, "1"))).isEqualTo("1");
  }

  // --- interrupts ---

  /** A language, and code that does not end. */
  private static Stream<Arguments> endless() {
    return Stream.of(
        Arguments.of("python", "while True: pass"),
        Arguments.of("python", "import time\ntime.sleep(1000)"),
        Arguments.of("python", "import subprocess\nsubprocess.run(['sleep', '1000'])"),
        Arguments.of("python", "import asyncio\nawait asyncio.sleep(1000)"),
        Arguments.of("javascript", "for (;;);"),
        Arguments.of("javascript", "await new Promise(() => {})"),
        Arguments.of("javascript", "require('child_process').execSync('sleep 1000')"),
        Arguments.of("bash", "while :; do :; done; echo no"),
        Arguments.of("bash", "sleep 1000; echo no"),
        Arguments.of("bash", "f() { while :; do sleep 0.01; done; }; f; echo no"));
  }

  @ParameterizedTest
  @MethodSource("endless")
  void anInterruptKeepsTheState(String language, String code) throws Exception {
    String context = create(language);
    run(context, language.equals("javascript") ? "let x = 7" : "x=7");
    String last = language.equals("bash") ? "echo $x" : "x";
    CompletableFuture<CellResult> busy = runAside(context, code);
    awaitState(context, "busy");
    assertThat(contexts.interrupt(context).document().isTrue("interrupted")).isTrue();
    CellResult cell = busy.get();
    assertThat(cell.outcome()).as(cell.document().toString()).isEqualTo("interrupted");
    assertThat(cell.stdout().size()).isZero();
    CellResult after = run(context, last);
    String value = language.equals("bash") ? after.stdout().text().strip() : plain(after);
    assertThat(value).isEqualTo("7");
    assertThat(contexts.interrupt(context).document().isTrue("interrupted")).isFalse();
    assertThat(run(context, last).outcome()).isEqualTo("ok");
  }

  /** A language, what prints the pid of its interpreter, and code that does not end. */
  private static Stream<Arguments> stopped() {
    return Stream.of(
        Arguments.of("python", "import os\nprint(os.getpid())", "while True: pass"),
        Arguments.of("javascript", "console.log(process.pid)", "for (;;);"),
        Arguments.of("bash", "echo $$", "while :; do :; done"));
  }

  @ParameterizedTest
  @MethodSource("stopped")
  void anInterruptThatComesBeforeTheCodeRunsIsNotLost(String language, String pid, String code)
      throws Exception {
    String context = create(language);
    String interpreter = run(context, pid).stdout().text().strip();
    kill("-STOP", interpreter);
    CompletableFuture<CellResult> cell = runAside(context, code);
    awaitState(context, "busy");
    assertThat(contexts.interrupt(context).document().isTrue("interrupted")).isTrue();
    kill("-CONT", interpreter);
    assertThat(cell.get().outcome()).isEqualTo("interrupted");
    assertThat(run(context, pid).stdout().text().strip()).isEqualTo(interpreter);
  }

  private void kill(String signal, String pid) throws IOException {
    assertThat(client.execs(box).run(ExecRequest.of("kill", signal, pid)).exec().exitCode())
        .isZero();
  }

  /** Leaves something behind that interrupts its interpreter when the cell is over. */
  private static Stream<Arguments> late() {
    String wait = "while [ ! -e /tmp/go ]; do sleep 0.01; done; kill -INT %s; : >/tmp/sent";
    String child = wait.formatted("$PPID");
    return Stream.of(
        Arguments.of(
            "python", "import subprocess\np = subprocess.Popen(['sh', '-c', '%s'])", child),
        Arguments.of(
            "javascript", "let p = require('child_process').spawn('sh', ['-c', '%s'])", child),
        Arguments.of("bash", "(%s) & p=1", wait.formatted("$$")));
  }

  @ParameterizedTest
  @MethodSource("late")
  void anInterruptBetweenCellsHasNoEffect(String language, String code, String child)
      throws Exception {
    String context = create(language);
    assertThat(run(context, code.formatted(child)).outcome()).isEqualTo("ok");
    client.files(box).write("/tmp/go", new byte[0]);
    await().atMost(DaemonProcess.PATIENCE).until(this::wasSent);
    CellResult after = run(context, language.equals("bash") ? "echo $p" : "p != 0");
    assertThat(after.outcome()).as(after.document().toString()).isEqualTo("ok");
    String said = language.equals("bash") ? after.stdout().text().strip() : plain(after);
    assertThat(said).isEqualToIgnoringCase(language.equals("bash") ? "1" : "true");
    assertThat(after.stderr().text()).isEmpty();
  }

  private boolean wasSent() throws IOException {
    var looked = client.execs(box).run(ExecRequest.of("test", "-e", "/tmp/sent"));
    return Objects.equals(looked.exec().exitCode(), 0);
  }

  @Test
  void aTimeoutInterruptsFirstAndThenEnds() throws Exception {
    String python = create("python");
    CellResult late =
        contexts.run(
            python,
            CellRequest.of("x = 1\nprint('so far')\nwhile True: pass")
                .withTimeout(TestHost.patience(Duration.ofSeconds(3))));
    assertThat(late.outcome()).isEqualTo("timed-out");
    assertThat(late.cause()).isNull();
    assertThat(late.stdout().text()).isEqualTo("so far\n");
    assertThat(plain(run(python, "x"))).isEqualTo("1");
    CellResult deaf =
        contexts.run(
            python,
            CellRequest.of(
                    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
                .withTimeout(TestHost.patience(Duration.ofSeconds(3)))
                .withGrace(Duration.ofMillis(200)));
    assertThat(deaf.outcome()).isEqualTo("timed-out");
    assertThat(requireNonNull(deaf.cause()).kind()).isEqualTo("killed");
    assertThat(deaf.state()).isEqualTo("ended");
    Context ended = contexts.inspect(python);
    assertThat(ended.hasEnded()).isTrue();
    var refused = catchThrowableOfType(EbbException.class, () -> run(python, "x"));
    assertThat(refused.status()).isEqualTo(409);
    contexts.restart(python);
    assertThat(plain(run(python, "2"))).isEqualTo("2");
  }

  /** Node ignores signals for a moment when it begins a cell, so the interrupt is repeated. */
  @Test
  void aTimeoutThatComesAtOnceKeepsTheState() throws Exception {
    String node = create("javascript");
    run(node, "var kept = 1");
    for (int i = 0; i < 8; i++) {
      CellResult late =
          contexts.run(
              node,
              CellRequest.of("await new Promise((done) => setTimeout(done, 60_000))")
                  .withTimeout(Duration.ofMillis(1))
                  .withGrace(TestHost.patience(Duration.ofSeconds(6))));
      assertThat(late.outcome()).isEqualTo("timed-out");
      assertThat(late.cause()).as("round %d", i).isNull();
    }
    assertThat(plain(run(node, "kept"))).isEqualTo("1");
  }

  /** The code itself sends what it shows: an interrupt there must not send it twice. */
  @ParameterizedTest
  @ValueSource(strings = {"javascript", "python"})
  void anInterruptTearsNothingThatIsShown(String language) throws Exception {
    String context = create(language);
    String code = language.equals("python") ? "while True: display(1)" : "for (;;) display(1)";
    for (int i = 0; i < 10; i++) {
      CompletableFuture<CellResult> cell = runAside(context, code);
      awaitState(context, "busy");
      contexts.interrupt(context);
      assertThat(cell.get().outcome()).as("round %d", i).isEqualTo("interrupted");
    }
  }

  @Test
  void whatIsNoCodeOrNoNameIsRefused() {
    for (CellRequest cell : List.of(CellRequest.of("\0"), CellRequest.of("x".repeat(5 << 20)))) {
      var refused =
          catchThrowableOfType(EbbException.class, () -> contexts.run(create("bash"), cell));
      assertThat(refused.status()).isEqualTo(400);
    }
    var id =
        catchThrowableOfType(
            EbbException.class, () -> contexts.create(ContextRequest.of("bash").withName("c77")));
    assertThat(id.detail()).contains("not be as an id");
  }

  @Test
  void aCallerThatDisconnectsInterruptsItsCell() throws Exception {
    String python = create("python");
    try (var cell = contexts.runAndFollow(python, CellRequest.of("x = 3\nwhile True: pass"))) {
      assertThat(cell.next()).isPresent();
      awaitState(python, "busy");
    }
    awaitState(python, "idle");
    assertThat(plain(run(python, "x"))).isEqualTo("3");
  }

  // --- access ---

  @Test
  void contextsAreFoundByNameListedAndRemoved() throws Exception {
    Context made = contexts.create(ContextRequest.of("py").withName("mine").withWorkdir("/tmp"));
    assertThat(made.language()).isEqualTo("python");
    assertThat(plain(run("mine", "import os; os.getcwd()"))).isEqualTo("'/tmp'");
    assertThat(contexts.list()).extracting(Context::id).containsExactly(made.id());
    var again =
        catchThrowableOfType(
            EbbException.class, () -> contexts.create(ContextRequest.of("bash").withName("mine")));
    assertThat(again.status()).isEqualTo(409);
    for (String language : List.of("klingon", "c")) {
      var refused =
          catchThrowableOfType(
              EbbException.class, () -> contexts.create(ContextRequest.of(language)));
      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.detail()).contains(language).contains("python, javascript, bash");
    }
    run("mine", "import subprocess; child = subprocess.Popen(['sleep', '1000'])");
    Context removed = contexts.remove("mine");
    assertThat(removed.status()).isEqualTo("killed");
    assertThat(contexts.list()).isEmpty();
    assertThat(client.execs(box).list()).isEmpty();
  }

  @Test
  void aContextThatWaitsDoesNotKeepItsBoxFromBeingIdle() throws Exception {
    String idle =
        client.boxes().create(BoxRequest.defaults().withIdleTimeout(Duration.ofSeconds(3))).id();
    client.contexts(idle).create(ContextRequest.of("python"));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () -> "idle".equals(client.boxes().inspect(idle).document().stringOrNull("endedBy")));
    client.boxes().remove(idle, true);
  }
}
