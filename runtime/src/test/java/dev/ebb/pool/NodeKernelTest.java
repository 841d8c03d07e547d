package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.exec.Exec;
import dev.ebb.kernel.Signal;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A warm node behaves like a node that was started with its code. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class NodeKernelTest {
  /** Where an error comes from: below the program's own frames those of the runner are shown. */
  private static final Pattern FRAME = Pattern.compile("(?m)^ +(at|\\d+:) .*\n|^\\d+: .*\n");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private WarmRuns runs;

  @BeforeEach
  void open() throws Exception {
    Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/node")), "host lacks node");
    runs = new WarmRuns(host.home(), Interpreter.NODE);
  }

  @AfterEach
  void close() {
    if (runs != null) {
      runs.close();
    }
  }

  private static ExecSpec node(String code, String... arguments) {
    return WarmRuns.command("node", "-e", code, arguments);
  }

  private WarmRuns.Run assertSame(ExecSpec spec, String input) throws InterruptedException {
    return runs.assertSame(spec, input, text -> FRAME.matcher(text).replaceAll(""));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "console.log(1 + 1)",
        "process.exit(3)",
        "process.exitCode = 4",
        "throw new Error('mine')",
        "throw 'a word'",
        "function f(n) { if (n) f(n - 1); else null.x } f(3)",
        "x = (",
        "console.log('unclosed",
        "Promise.reject(new Error('nobody heard'))",
        "process.on('uncaughtException', e => console.log('heard', e.message)); throw Error('x')",
        "process.on('exit', c => console.log('last', c)); console.log('first')",
        "setTimeout(() => console.log('later'), 20); console.log('now')",
        "Promise.resolve().then(() => console.log('then'));"
            + " process.nextTick(() => console.log('tick')); console.log('now')",
        "setImmediate(() => { throw new Error('later') })",
        "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 9000)",
        "process.kill(process.pid, 'SIGKILL')",
        "process.abort()",
        "process.on('SIGTERM', () => { console.log('heard'); process.exit(5) });"
            + " setTimeout(() => {}, 9000); process.kill(process.pid, 'SIGTERM')",
        "console.log(process.argv, process.execArgv, process.argv0, process.execPath)",
        "console.log(process._eval, process.title)",
        "console.log(process.env); require('child_process').execSync('env | sort',"
            + " {stdio: 'inherit'})",
        "console.log(process.cwd(), process.pid, process.ppid, process.umask())",
        "const fs = require('fs'); console.log(fs.readdirSync('.'), fs.readdirSync('/tmp'),"
            + " fs.readFileSync('/proc/self/comm', 'utf8'))",
        "console.log(require('fs').readFileSync('/proc/self/limits', 'utf8'))",
        "console.log(Object.getOwnPropertyNames(globalThis), __filename, __dirname)",
        "console.log(Object.keys(globalThis), module.id, module.paths, module.children)",
        "console.log(Object.keys(require.cache), require.main, typeof require)",
        "console.log(this === globalThis, typeof exports, RegExp.$1, RegExp.lastMatch)",
        "const a = 1; let b = 2; var c = 3; function d() {} console.log(c, globalThis.c,"
            + " globalThis.a, typeof globalThis.d)",
        "'use strict'; undeclared = 1",
        "console.log(process.stdin.isTTY, process.stdin.fd, process.stdin.constructor.name,"
            + " process.stdout.constructor.name)",
        "process.stdin.on('data', d => console.log('data', d)).on('end', () => console.log('end'))",
        "console.log(JSON.stringify(require('fs').readFileSync(0, 'utf8')))",
        "console.log('wörld \\u{1F30A}', Buffer.from('é'))",
        "process.stdout.write(Buffer.from([0, 255])); process.stderr.write('no end')",
        "console.log(require('child_process').spawnSync(process.execPath, ['-p', '5'],"
            + " {encoding: 'utf8'}).stdout)",
        "const {Worker} = require('worker_threads'); new Worker('console.log(6)', {eval: true})",
        "console.log(vm === require('vm'), fs === require('fs'), typeof path.join)",
        ""
      })
  void itIsTheSame(String code) throws Exception {
    assertSame(node(code), "");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "console.log(1 + 1)",
        "console.log(process.argv, process.execArgv, process._eval, process.title)",
        "console.log(Object.getOwnPropertyNames(globalThis), typeof fs, __filename, __dirname)",
        "console.log(Object.keys(globalThis), typeof crypto.subtle, this === module.exports)",
        "console.log(require.main === module, module.id, module.paths, Object.keys(require.cache))",
        "console.log(require('./other').x); require('./absent')",
        "function f() { throw new Error('mine') }\nf()",
        "process.exitCode = 4; process.on('exit', c => console.log('last', c))",
        "const x = (",
        "await 1",
        "import fs from 'fs'",
        "import('fs').then(fs => console.log(typeof fs.readFileSync))",
        "return console.log('returned')",
        "x = 1; var y = 2; console.log(globalThis.x, globalThis.y, RegExp.$1)",
      })
  void itIsTheSameOfAFile(String code) throws Exception {
    var spec = ExecSpec.of("node", "main.js", "a");
    runs.assertSameOfFiles(
        spec, Map.of("main.js", code, "other.js", "exports.x = 7"), NodeKernelTest::withoutFrames);
  }

  @Test
  void itRunsModules() throws Exception {
    String code = "import fs from 'fs'; console.log(await 1, typeof fs, import.meta.url)";
    var run =
        runs.assertSameOfFiles(
            ExecSpec.of("node", "main.mjs"),
            Map.of("main.mjs", code),
            NodeKernelTest::withoutFrames);
    assertThat(run.stdout()).contains("1 object file:///workspace/main.mjs");
  }

  private static String withoutFrames(String text) {
    return FRAME.matcher(text).replaceAll("").replaceAll("node:\\d+", "node:N");
  }

  @Test
  void itsOwnFramesComeFirst() throws Exception {
    var spec = node("function f() { throw new Error('x') }\nf()");
    String cold = runs.coldly(spec, "").stderr();
    String warm = runs.warmly(spec, "").stderr();
    String own = cold.substring(0, cold.indexOf("at runScript"));
    assertThat(own).contains("at f ([eval]:1:22)");
    assertThat(warm.lines().limit(own.lines().count() - 1))
        .containsExactlyElementsOf(own.lines().limit(own.lines().count() - 1).toList());
  }

  @Test
  void itHasItsArguments() throws Exception {
    var spec = node("console.log(process.argv)", "a", "", "-x", "wörld", "a b\nc");
    assertThat(assertSame(spec, "").stdout()).contains("'a',", "'-x',");
  }

  @Test
  void itHasItsInput() throws Exception {
    var spec = node("console.log(JSON.stringify(fs.readFileSync(0, 'utf8')))").withInput();
    assertSame(spec, "one\ntwö");
    assertSame(spec, "");
    var length =
        node("let n = 0; process.stdin.on('data', d => n += d.length)"
                + ".on('end', () => console.log(n))")
            .withInput();
    assertThat(runs.warmly(length, "x".repeat(300_000)).stdout()).isEqualTo("300000\n");
  }

  @Test
  void itHasItsEnvironment() throws Exception {
    var spec =
        node("console.log(process.env); child_process.execSync('env', {stdio: 'inherit'})")
            .withEnvironment(Map.of("USER", "me", "MINE", "ü=1"));
    assertThat(assertSame(spec, "").stdout()).contains("ü=1");
  }

  @Test
  void itsCodeMayBeLong() throws Exception {
    var spec = node("const x = '" + "y".repeat(100_000) + "'; console.log(x.length)");
    assertThat(assertSame(spec, "").stdout()).isEqualTo("100000\n");
  }

  @Test
  void whatNodeReadsInAnotherWayTakesAnotherWay() {
    assertThat(Interpreter.of(node("1", "a", "-p"), false)).contains(Interpreter.NODE);
    assertThat(Interpreter.of(node("1"), true)).contains(Interpreter.NODE);
    assertThat(Interpreter.of(node("1", "-p"), false)).isEmpty();
    assertThat(Interpreter.of(node("--version"), false)).isEmpty();
    for (String code :
        List.of("import fs from 'fs'", "export {}", "await 1", "console.log(crypto.randomUUID)")) {
      assertThat(Interpreter.of(node(code), false)).as(code).isEmpty();
    }
    for (String name : List.of("NODE_OPTIONS", "NODE_PATH", "UV_THREADPOOL_SIZE", "TZ")) {
      var spec = node("1").withEnvironment(Map.of(name, "1"));
      assertThat(Interpreter.of(spec, false)).as(name).isEmpty();
    }
  }

  @Test
  void itsTimeAndLimitsAreThoseOfTheOrder() throws Exception {
    var endless =
        node("setInterval(() => {}, 1000)")
            .withTimeout(Duration.ofMillis(400))
            .withGrace(Duration.ZERO);
    assertThat(runs.warmly(endless, "").cause()).isInstanceOf(ExitCause.TimedOut.class);
    var limited =
        node("console.log(fs.readFileSync('/proc/self/limits', 'utf8'))")
            .withOpenFiles(99)
            .withFileSize(new ByteSize(4096));
    assertThat(assertSame(limited, "").stdout()).containsPattern("Max open files +99 +99");
  }

  @Test
  void itCanBeSignalled() throws Exception {
    PoolItem item = runs.warm(node("setInterval(() => {}, 1000)"));
    Exec exec = item.begin();
    exec.signal(Signal.TERM);
    assertThat(exec.await().cause()).isEqualTo(new ExitCause.Signalled(15));
    runs.release(item);
  }
}
