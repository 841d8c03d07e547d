package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.Context;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.Contexts;
import dev.ebb.client.Limits;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cells that end their interpreter, or write where they should not: they harm their context. */
@Tag("kernel")
@LeakChecked
@Timeout(240)
final class DaemonHostileContextAcceptanceTest extends ContextFixture {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  DaemonHostileContextAcceptanceTest() {
    super(DAEMON);
  }

  // --- the end of an interpreter ---

  private static Stream<Arguments> ends() {
    return Stream.of(
        Arguments.of("python", "import os\nos._exit(3)", "exited", 3),
        Arguments.of("python", "exit(4)", "exited", 4),
        Arguments.of("python", "import os\nos.kill(os.getpid(), 9)", "signalled", 9),
        Arguments.of("python", "import os\nos.abort()", "signalled", 6),
        Arguments.of(
            "python",
            "import sys, ctypes\nsys.setrecursionlimit(10**9)\ndef r(): return r()\nctypes.string_at(0)",
            "signalled",
            11),
        Arguments.of("javascript", "process.exit(3)", "exited", 3),
        Arguments.of("javascript", "process.kill(process.pid, 'SIGKILL')", "signalled", 9),
        Arguments.of("bash", "exit 3", "exited", 3),
        Arguments.of("bash", "kill -9 $$", "signalled", 9));
  }

  @ParameterizedTest
  @MethodSource("ends")
  void theEndOfAnInterpreterIsReported(String language, String code, String kind, int number)
      throws Exception {
    String context = create(language);
    String before = language.equals("javascript") ? "console.log('before');\n" : "";
    before = language.equals("python") ? "print('before')\n" : before;
    before = language.equals("bash") ? "echo before\n" : before;
    CellResult cell = run(context, before + code);
    assertThat(cell.outcome()).as(cell.document().toString()).isEqualTo("died");
    assertThat(cell.stdout().text()).isEqualTo("before\n");
    assertThat(cell.state()).isEqualTo("ended");
    var cause = requireNonNull(cell.cause());
    assertThat(cause.kind()).isEqualTo(kind);
    assertThat(kind.equals("exited") ? cause.code() : cause.signal()).isEqualTo(number);
    Context ended = contexts.inspect(context);
    assertThat(ended.hasEnded()).isTrue();
    assertThat(requireNonNull(ended.cause()).kind()).isEqualTo(kind);
  }

  @Test
  void endlessRecursionIsAnErrorAndTheEndOfMemoryAnEnd() throws Exception {
    String python = create("python");
    CellResult deep = run(python, "def r(): r()\nr()");
    assertThat(requireNonNull(deep.error()).name()).isEqualTo("RecursionError");
    assertThat(deep.state()).isNotEqualTo("ended");
    String node = create("javascript");
    CellResult deeper = run(node, "function r() { r() }; r()");
    assertThat(requireNonNull(deeper.error()).name()).isEqualTo("RangeError");
    assertThat(plain(run(node, "1"))).isEqualTo("1");
    String small =
        client
            .boxes()
            .create(BoxRequest.defaults().withLimits(new Limits(64L << 20, 64, null, null)))
            .id();
    Contexts there = client.contexts(small);
    String hungry = there.create(ContextRequest.of("python")).id();
    CellResult cell =
        there.run(
            hungry,
            CellRequest.of("x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1"));
    assertThat(cell.outcome()).isIn("died", "error");
    if (cell.outcome().equals("died")) {
      assertThat(requireNonNull(cell.cause()).kind()).isEqualTo("out-of-memory");
    }
    client.boxes().remove(small, true);
  }

  // --- forks ---

  @Test
  void aForkInACellIsNoSecondInterpreter() throws Exception {
    String python = create("python");
    CellResult cell =
        run(
            python,
            """
            import os
            x = 1
            pid = os.fork()
            print('child' if pid == 0 else 'parent')
            if pid == 0: raise ValueError('mine')
            os.waitpid(pid, 0)[1] >> 8
            """);
    assertThat(cell.outcome()).as(cell.document().toString()).isEqualTo("ok");
    assertThat(cell.stdout().text()).contains("parent\n", "child\n");
    assertThat(cell.stderr().text()).contains("ValueError: mine").doesNotContain("<ebb>");
    assertThat(plain(cell)).isEqualTo("1");
    // The child continues when the parent has ended its cell.
    run(
        python,
        """
        pid = os.fork()
        if pid == 0:
            import time
            while not os.path.exists('/tmp/go'): time.sleep(0.01)
            print('late')
        """);
    CellResult next = run(python, "open('/tmp/go', 'w').close()\nos.waitpid(pid, 0)[1]");
    assertThat(plain(next)).isEqualTo("0");
    assertThat(next.stdout().text()).isEqualTo("late\n");
    assertThat(plain(run(python, "x"))).isEqualTo("1");
  }

  // --- output ---

  @Test
  void tenMegabytesAndAnyBytesAreJustOutput() throws Exception {
    String python = create("python");
    CellResult much = run(python, "print('x' * 10_000_000)");
    assertThat(much.outcome()).isEqualTo("ok");
    assertThat(much.document().number("stdoutBytes")).isEqualTo(10_000_001);
    assertThat(much.stdout().size()).isEqualTo(1 << 20);
    assertThat(much.truncated()).isTrue();
    CellResult binary =
        run(
            python,
            "import os\nos.write(1, bytes(range(256)) * 100)\nos.write(2, b'0000 done 0\\n')");
    assertThat(binary.outcome()).isEqualTo("ok");
    assertThat(binary.stdout().size()).isEqualTo(25_600);
    assertThat(binary.stdout().bytes()[25_599]).isEqualTo((byte) 0xff);
    assertThat(binary.stderr().text()).isEqualTo("0000 done 0\n");
    assertThat(binary.truncated()).isFalse();
  }

  @Test
  void whatIsAboveTheLimitIsThrownAwayAndNothingEnds() throws Exception {
    String python = contexts.create(ContextRequest.of("python").withOutputLimit(1000)).id();
    for (int i = 0; i < 3; i++) {
      CellResult cell = run(python, "print('y' * 100_000)");
      assertThat(cell.outcome()).isEqualTo("ok");
      assertThat(cell.truncated()).isTrue();
      assertThat(cell.stdout().text()).isEqualTo("y".repeat(1000));
      CellResult less = run(python, "print('z')");
      assertThat(less.stdout().text()).isEqualTo("z\n");
      assertThat(less.truncated()).isFalse();
    }
  }

  @Test
  void displaysAreBoundedAndTheRestIsReportedAsLost() throws Exception {
    String python = create("python");
    CellResult cell =
        run(
            python,
            """
            class Large:
                def _repr_png_(self): return b'x' * (6 << 20)
            for _ in range(4): display(Large())
            1
            """);
    assertThat(cell.outcome()).as("it goes on").isEqualTo("ok");
    assertThat(cell.truncated()).isTrue();
    assertThat(cell.displays()).hasSize(2);
    assertThat(plain(cell)).isEqualTo("1");
    for (int i = 0; i < 5; i++) {
      // More than the daemon has room for at once, were it not given back.
      CellResult again = run(python, "display(Large()); display(Large())");
      assertThat(again.displays()).as("round " + i).hasSize(2);
      assertThat(again.truncated()).isFalse();
    }
  }

  @Test
  void manySmallThingsThatAreShownAreBoundedToo() throws Exception {
    CellResult cell = run(create("python"), "for _ in range(50_000): display(1)\n2");
    assertThat(cell.outcome()).as("it goes on").isEqualTo("ok");
    assertThat(cell.truncated()).isTrue();
    assertThat(cell.displays()).hasSizeBetween(1_000, 33_000);
  }

  // --- the line ---

  /** Finds the line as hostile code would: among all that is open. */
  private static final String FIND =
      """
      import os
      lines = []
      for f in os.listdir('/proc/self/fd'):
          try:
              if 'socket:' in os.readlink('/proc/self/fd/' + f): lines.append(int(f))
          except OSError: pass
      """;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "for f in range(1024):\n    try: os.write(f, b'\\xff garbage \\n' * 1000)\n    except OSError: pass",
        "os.write(lines[0], b'0' * 16 + b' done 2\\nok')",
        "os.write(lines[0], b'0' * 100000)",
        "os.write(lines[0], b'a' * 16 + b' form 99999999\\n')",
        "os.write(lines[0], b'a' * 16 + b' form 15000000\\n' + b'x' * 100000)"
      })
  void garbageOnTheLineBreaksItsContextAlone(String code) throws Exception {
    String other = create("python");
    assertThat(run(other, "x = 1").outcome()).isEqualTo("ok");
    String python = create("python");
    CellResult cell = run(python, FIND + code + "\nprint('after')");
    assertThat(cell.outcome()).as(cell.document().toString()).isIn("broken", "died");
    assertThat(cell.state()).isEqualTo("ended");
    await().atMost(DaemonProcess.PATIENCE).until(() -> contexts.inspect(python).cause() != null);
    assertThat(plain(run(other, "x"))).isEqualTo("1");
    contexts.restart(python);
    assertThat(plain(run(python, "2"))).isEqualTo("2");
  }

  /** The nonce can be had, and with it the end of one's own cell: no more than that. */
  @Test
  void aForgedEndHarmsNoOtherContextAndNotTheNextCell() throws Exception {
    String python = create("python");
    CellResult forged =
        run(
            python,
            FIND
                + """
                import gc, time
                state = [o for o in gc.get_objects() if type(o).__name__ == 'State'][0]
                os.write(lines[0], state.nonce + b' done 2\\nok')
                time.sleep(0.5)
                print('still here')
                """);
    assertThat(forged.outcome()).isIn("ok", "broken");
    await().atMost(DaemonProcess.PATIENCE).until(() -> contexts.inspect(python).cause() != null);
    assertThat(contexts.inspect(python).broken()).contains("no cell that runs");
  }

  /**
   * A thread that an earlier cell left behind sends this: nothing of it counts for the next cell.
   */
  @Test
  void aWordOfAnEarlierCellBreaksTheContext() throws Exception {
    String python = create("python");
    String keep =
        """
        import gc
        state = [o for o in gc.get_objects() if type(o).__name__ == 'State'][0]
        old = bytes(state.nonce)
        """;
    assertThat(run(python, FIND + keep).outcome()).isEqualTo("ok");
    String say = "old + b' form 12\\ntext/plain\\0x' + old + b' display 0\\n'";
    CellResult cell = run(python, "os.write(lines[0], " + say + ")");
    assertThat(cell.displays()).isEmpty();
    assertThat(cell.outcome()).as(cell.document().toString()).isEqualTo("broken");
    assertThat(contexts.inspect(python).broken()).contains("no cell that runs");
  }

  @ParameterizedTest
  @ValueSource(strings = {"python", "javascript", "bash"})
  void anInterpreterThatClosesAllItsDescriptorsEnds(String language) throws Exception {
    String context = create(language);
    String code =
        switch (language) {
          case "python" -> "import os\nos.closerange(0, 1024)\nwhile True: pass";
          case "javascript" ->
              "for (let f = 0; f < 1024; f++) { try { require('fs').closeSync(f) } catch {} }";
          default -> "for f in {0..255}; do eval \"exec $f>&-\"; done; exit 0";
        };
    CellResult cell =
        contexts.run(
            context,
            CellRequest.of(code)
                .withTimeout(Duration.ofSeconds(20))
                .withGrace(Duration.ofMillis(100)));
    assertThat(cell.outcome()).as(cell.document().toString()).isIn("died", "broken");
    assertThat(cell.state()).isEqualTo("ended");
    assertThat(cell.cause()).isNotNull();
  }

  /** No call waits for its end between two cells, but the daemon sees it. */
  @Test
  void aThreadThatWritesToTheLineBetweenCellsIsEnded() throws Exception {
    String python = create("python");
    run(
        python,
        FIND
            + """
            import threading, time
            def later():
                time.sleep(0.3)
                os.write(lines[0], b'?' * 100)
            threading.Thread(target=later, daemon=True).start()
            """);
    await().atMost(DaemonProcess.PATIENCE).until(() -> contexts.inspect(python).cause() != null);
    assertThat(contexts.inspect(python).broken()).isNotNull();
  }

  // --- many ---

  @Test
  void twoHundredCellsLeaveDescriptorsAndMemoryAsTheyWere() throws Exception {
    String python = create("python");
    cells(python, 50);
    int descriptors = DAEMON.descriptors();
    long memory = DAEMON.memory();
    long interpreter = memory(python);
    cells(python, 200);
    assertThat(DAEMON.descriptors()).isLessThanOrEqualTo(descriptors + 2);
    assertThat(DAEMON.memory() - memory).as("of the daemon").isLessThan(32L << 20);
    assertThat(memory(python) - interpreter).as("of the interpreter").isLessThan(4L << 20);
  }

  private void cells(String context, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      String code = i % 10 == 0 ? "print('x' * 20_000)" : "print('x'); display(1); " + i;
      assertThat(run(context, code).outcome()).isEqualTo("ok");
    }
  }

  private long memory(String context) throws IOException {
    String code =
        "int(next(l for l in open('/proc/self/status') if l.startswith('VmRSS')).split()[1])";
    return Long.parseLong(plain(run(context, code))) * 1024;
  }
}
