package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A warm python3 behaves like a python3 that was started with its code. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class PythonKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  WarmRuns runs;

  @BeforeEach
  void open() throws Exception {
    runs = open(host.home());
  }

  WarmRuns open(Path home) {
    return new WarmRuns(home, Interpreter.PYTHON, UnaryOperator.identity());
  }

  @AfterEach
  void close() {
    runs.close();
  }

  static ExecSpec python(String code, String... arguments) {
    return WarmRuns.command("python3", "-c", code, arguments);
  }

  static Stream<String> programs() {
    return Stream.of(
        "print(1 + 1)",
        "import sys; sys.exit()",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('a message')",
        "raise SystemExit(257)",
        "exit(7)",
        "import os; os._exit(9)",
        "1 / 0",
        "def f(n):\n  return f(n - 1) if n else {}['x']\nf(3)",
        "raise KeyboardInterrupt",
        "raise ValueError('first') from OSError('cause')",
        "try:\n  1/0\nexcept ZeroDivisionError:\n  raise KeyError('during')",
        "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
        "x = (",
        "if True:\nprint(1)",
        "print('unclosed",
        "import warnings; warnings.warn('look')",
        "x = 1 is 1",
        "import sys; sys.excepthook = lambda *a: print('mine', a[0], a[2] is not None); 1/0",
        "import sys\ndef hook(*a): print(sys.excepthook is hook)\nsys.excepthook = hook\n1/0",
        "import atexit; atexit.register(print, 'last'); print('first')",
        "import atexit, sys; atexit.register(print, 'last'); sys.exit(4)",
        "import threading, time\ndef f():\n  time.sleep(0.2); print('thread')\n"
            + "threading.Thread(target=f).start(); print('main')",
        "import threading\nthreading.Thread(target=lambda: 1/0, name='t').start()",
        "import os\npid = os.fork()\nif pid == 0:\n  print('child', flush=True); os._exit(5)\n"
            + "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
        "import os\nif os.fork() == 0:\n  raise SystemExit(0)\nos.wait(); print('parent')",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
        "import os; os.abort()",
        "import signal; print([(s, signal.getsignal(s)) for s in signal.valid_signals()])",
        "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
        "import os; print(sorted(os.listdir('/proc/self/fd')))",
        "import os; print(os.getcwd(), os.listdir(), os.listdir('/tmp'), os.getpid(), os.getppid())",
        "import os; print(os.getpgid(0), os.getsid(0), oct(os.umask(0)))",
        "import os; print(dict(os.environ)); os.system('env | sort')",
        "print(open('/proc/self/comm').read())",
        "import resource as r; print([r.getrlimit(i) for i in range(16)])",
        "print(sorted(globals()), __name__, __doc__, __spec__, __loader__, __builtins__)",
        "import sys; print(sys.argv, sys.orig_argv, sys.flags, sys.path, sys.executable)",
        "import sys; print(sorted(sys.modules))",
        "import sys; print(sys.getrecursionlimit(), sys.gettrace(), sys.getprofile())",
        "import sys; print(sys.stdin, sys.stdout, sys.stderr, sys.stdin is sys.__stdin__)",
        "import sys; print(sys.stdin.seekable(), sys.stdin.fileno(), sys.stdin.isatty(),"
            + " sys.stdin.buffer, sys.stdin.line_buffering, sys.stdin.mode, sys.stdin.newlines)",
        "import sys; print(repr(sys.stdin.read()))",
        "input()",
        "print('wörld \\U0001F30A', 'é'.encode())",
        "print('ünïcödé')\nraise ValueError('ñ')",
        "import sys; sys.stdout.buffer.write(b'\\x00\\xff'); sys.stderr.write('no end')",
        "import multiprocessing as m\nif __name__ == '__main__':\n"
            + "  p = m.get_context('fork').Process(target=print, args=('forked',)); p.start(); p.join()",
        "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(5)'],"
            + " capture_output=True, text=True))",
        "class A:\n  def __repr__(self): return __name__ + A.__module__\nprint(A(), A)",
        "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A)) is A)",
        "import __main__; x = 1; print(__main__.x)",
        "from __future__ import annotations\ndef f(a: nonsense): pass\nprint(f.__annotations__)",
        "import gc; print(gc.isenabled(), gc.get_threshold())",
        "import faulthandler; print(faulthandler.is_enabled())",
        "import locale, sys; print(locale.getlocale(), sys.getfilesystemencoding())",
        "print(__annotations__); x: int = 3; print(__annotations__)",
        "class A:\n  def __del__(self): print('last', A, x)\nx = 3\na = A()",
        "class A:\n  def __del__(self): print('last')\nimport json; json.a = A(); b = [A()]; b.append(b)",
        "import sys\nclass A:\n  def __del__(self): print('last', file=sys.stderr)\na = A(); sys.exit(6)",
        "import weakref\nclass A: pass\na = A(); weakref.finalize(a, print, 'finalized')",
        "import ctypes; ctypes.CDLL(None).printf(b'by C'); print('by python')",
        "import sys; sys.stdout.close(); sys.exit(2)",
        "import os, sys; os.close(1); print('nowhere')",
        "import sys; sys.stdout = None; sys.exit(1 << 40)",
        "import sys\ndef hook(*a): sys.exit(9)\nsys.excepthook = hook\n1/0",
        "import atexit, os; atexit.register(lambda: os._exit(11))",
        "import atexit; atexit.register(print, file=1)",
        "import threading\nthreading.Timer(0.2, lambda: print('later')).start()",
        "import logging; logging.warning('x'); logging.shutdown()",
        "import concurrent.futures as c\nprint(c.ThreadPoolExecutor(2).submit(lambda: 4).result())",
        "");
  }

  @ParameterizedTest
  @MethodSource("programs")
  void itIsTheSame(String code) throws Exception {
    runs.assertSame(python(code), "");
  }

  /** Each leaves "data" in a file that it never closes; what holds it differs. */
  static Stream<String> careless() {
    String f = "f = open('out', 'w'); f.write('data')\n";
    return Stream.of(
        f,
        "def main(): pass\n" + f,
        "class A:\n  f = open('out', 'w')\nA.f.write('data')",
        "import functools\n@functools.lru_cache\ndef g(): return open('out', 'w')\ng().write('data')",
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n  f: object\n"
            + f
            + "a = A(f); del f",
        "import threading\ndef g():\n  global f\n  "
            + f
            + "t = threading.Thread(target=g); t.start(); t.join()",
        "def g():\n  " + f + "  raise ValueError('it')\ng()",
        "import sys\n" + f + "sys.f = f",
        "import builtins\n" + f + "builtins.f = f; del f",
        "import os\n" + f + "os.f = f; sys = os.sys; sys.exit(3)",
        "import atexit\nclass A:\n  def __init__(self):\n    self.f = open('out', 'w'); self.f.write('da')\n"
            + "  def done(self): self.f.write('ta')\natexit.register(A().done)",
        "import atexit\n" + f + "atexit.register(lambda: f.write(' more'))",
        "import signal\n" + f + "signal.signal(signal.SIGUSR1, lambda *_: f.write('x'))",
        "import sys\n" + f + "sys.displayhook = lambda x: f.write(str(x))",
        "import json\n" + f + "json.loads = lambda x: f",
        "import io\nclass A(io.TextIOWrapper): pass\nimport os\nos.f = A(open('out', 'wb')); os.f.write('data')",
        "import os\nos.f = open('out', 'wb'); os.f.write(b'data')",
        "class A:\n  def __del__(self): open('out', 'w').write('data')\nimport atexit; atexit.register(print, A())");
  }

  @ParameterizedTest
  @MethodSource("careless")
  void whatItHasNotWrittenYetIsWrittenInTheEnd(String code) throws Exception {
    runs.assertSameIn("out", python(code));
  }

  /** All but those that hold their pid: other processes wrote the file, and had a pid, too. */
  static Stream<String> files() {
    return programs().filter(code -> !code.matches("import os; print\\(os.get(cwd|pgid).*"));
  }

  @ParameterizedTest
  @MethodSource("files")
  void itIsTheSameOfAFile(String code) throws Exception {
    assertSameOfFile(code);
  }

  /** With arguments, and what else a file has. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "# -*- coding: latin-1 -*-\nprint('\u00e4')",
        "\ufeffprint(1)",
        "print(1)\r\nprint(2)\r\n",
        "print(1)\n# \0\nprint(2)",
        "#!/usr/bin/env python3\nimport sys; print(sys.argv, __file__)",
        "import other; print(other.__file__, other.x, __import__('os').listdir())",
        "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
        "import __main__; print(__main__.__file__, __main__.__spec__, __cached__)",
        "import runpy; runpy.run_path('other.py'); print(open(__file__).read())",
        "import multiprocessing as m\ndef f(): print('spawned')\n"
            + "if __name__ == '__main__':\n  p = m.get_context('spawn').Process(target=f); p.start(); p.join()",
        "import subprocess, sys; print(subprocess.run([sys.executable, *sys.argv[:1], 'x'] if len(sys.argv) > 2"
            + " else ['true']))",
      })
  void aFileIsWhatItIsForPython(String code) throws Exception {
    assertSameOfFile(code, "a", "-b", "");
  }

  private void assertSameOfFile(String code, String... arguments) throws Exception {
    var command = new ArrayList<>(List.of("python3", "main.py"));
    command.addAll(List.of(arguments));
    runs.assertSameOfFiles(
        ExecSpec.of(command), Map.of("main.py", code, "other.py", "x = 1\nprint('other')\n"));
  }

  @Test
  void pythonItselfReportsAnUnreadableFile() throws Exception {
    WarmRuns.Run run = runs.assertSameOfFiles(ExecSpec.of("python3", "none.py"), Map.of());
    assertThat(run.cause()).isEqualTo(new ExitCause.Exited(2));
    assertThat(run.stderr()).contains("can't open file");
  }

  @Test
  void whatIsImportedFromAFileLeavesNothingIfThatIsWanted() throws Exception {
    var spec =
        ExecSpec.of("python3", "main.py").withEnvironment(Map.of("PYTHONDONTWRITEBYTECODE", "1"));
    WarmRuns.Run run =
        runs.assertSameOfFiles(
            spec, Map.of("main.py", "import other, os; print(os.listdir())", "other.py", "x = 1"));
    assertThat(run.stdout()).doesNotContain("pycache").contains("main.py");
  }

  @Test
  void itHasItsArguments() throws Exception {
    var spec = python("import sys; print(sys.argv)", "a", "", "-x", "wörld", "a b\nc");
    assertThat(runs.assertSame(spec, "").stdout()).contains("'a', '', '-x'");
  }

  @Test
  void itHasItsInput() throws Exception {
    var spec =
        python("import sys; print(repr(sys.stdin.read()), sys.stdin.seekable())").withInput();
    runs.assertSame(spec, "one\ntwö");
    runs.assertSame(spec, "");
    String large = "x".repeat(300_000);
    assertThat(
            runs.warmly(python("import sys; print(len(sys.stdin.read()))").withInput(), large)
                .stdout())
        .isEqualTo("300000\n");
  }

  @Test
  void itHasItsEnvironment() throws Exception {
    var spec =
        python("import os; print(dict(os.environ)); os.system('env')")
            .withEnvironment(Map.of("USER", "me", "MINE", "ü=1"));
    assertThat(runs.assertSame(spec, "").stdout()).contains("ü=1");
  }

  @Test
  void itsCodeMayBeLong() throws Exception {
    var spec = python("x = '" + "y".repeat(100_000) + "'; print(len(x))");
    assertThat(runs.assertSame(spec, "").stdout()).isEqualTo("100000\n");
  }

  @Test
  void whatIsReadAtTheStartTakesAnotherWay() throws Exception {
    for (String name : List.of("PYTHONPATH", "PYTHONHASHSEED", "LC_ALL", "LANG", "PATH", "TZ")) {
      var spec = python("print(1)").withEnvironment(Map.of(name, "1"));
      assertThat(Interpreter.of(spec, false)).as(name).isEmpty();
    }
    assertThat(Interpreter.of(python("print(1)").withWorkdir("/tmp"), false)).isEmpty();
    assertThat(Interpreter.of(python("print(1)").withTerminal(24, 80), false)).isEmpty();
    assertThat(Interpreter.of(python("print(1)").withOperator(), false)).isEmpty();
    for (String word : List.of("-c", "-m", "-", "x", "/x.py", "a/x.py", "..", "-x.py", ".py")) {
      assertThat(Interpreter.of(ExecSpec.of("python3", word), false)).as(word).isEmpty();
    }
    assertThat(Interpreter.of(ExecSpec.of("python3", "-m", "x.py"), false)).isEmpty();
    assertThat(Interpreter.of(ExecSpec.of("python3", "x.py"), false)).contains(Interpreter.PYTHON);
    assertThat(Interpreter.of(ExecSpec.of("node", "x.ts"), false)).isEmpty();
    assertThat(Interpreter.of(python("print(1)"), false)).contains(Interpreter.PYTHON);
    var own = python("print(1)").withEnvironment(Map.of("MINE", "1"));
    assertThat(Interpreter.of(own, false)).contains(Interpreter.PYTHON);
    assertThat(Interpreter.of(own, true)).isEmpty();
  }

  @Test
  void itsTimeCountsFromItsOrder() throws Exception {
    var spec =
        python("import time; time.sleep(100)")
            .withTimeout(Duration.ofMillis(400))
            .withGrace(Duration.ZERO);
    PoolItem item = runs.warm(spec);
    ExecResult result = item.begin().await();
    assertThat(result.cause()).isInstanceOf(ExitCause.TimedOut.class);
    assertThat(result.wall()).isGreaterThanOrEqualTo(Duration.ofMillis(399));
    runs.release(item);
  }

  @Test
  void itsOutputIsLimited() throws Exception {
    var spec = python("print('x' * 1000)").withOutputLimit(new ByteSize(100));
    WarmRuns.Run run = runs.warmly(spec, "");
    assertThat(run.cause()).isInstanceOf(ExitCause.OutputLimit.class);
    assertThat(run.stdout()).isEqualTo("x".repeat(100));
  }

  @Test
  void itsLimitsAreThoseOfTheOrder() throws Exception {
    var code =
        "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_FSIZE))";
    var spec = python(code).withOpenFiles(55).withFileSize(new ByteSize(4096));
    assertThat(runs.assertSame(spec, "").stdout()).isEqualTo("(55, 55) (4096, 4096)\n");
  }

  @Test
  void whatItUsedBeforeIsNotItsOwn() throws Exception {
    TestHost.require(Feature.CGROUPS);
    runs.preload(List.of("asyncio", "decimal", "email", "http.client", "xml.dom.minidom"));
    PoolItem item = runs.warm(python("pass"));
    Duration cpu = item.begin().await().usage().cpu();
    runs.release(item);
    Box box = runs.engine.create(BoxSpec.defaults());
    var imports = python("import asyncio, decimal, email, http.client, xml.dom.minidom");
    Duration cold = runs.engine.start(box, imports).await().usage().cpu();
    assertThat(runs.engine.release(box).isClean()).isTrue();
    assertThat(cpu).isLessThan(cold.dividedBy(2));
  }

  @Test
  void itCanBeSignalled() throws Exception {
    PoolItem item = runs.warm(python("import time; time.sleep(100)"));
    Exec exec = item.begin();
    exec.signal(Signal.TERM);
    assertThat(exec.await().cause()).isEqualTo(new ExitCause.Signalled(15));
    runs.release(item);
  }
}
