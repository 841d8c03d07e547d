package dev.ebb.bench;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.Contexts;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Measures the cost of code over the daemon's socket: a cell of a context in turn with a bare
 * interpreter that gets the same code over a pipe, and {@code POST /v1/code} from the pool in turn
 * with bwrap and python.
 *
 * <p>Arguments: the number of rounds, the number of warm-up rounds, and the directory for {@code
 * code-report.md}.
 */
public final class Cells {
  private static final String SUM = "print(1+1)";
  private static final String NUMPY = "import numpy; print(numpy.arange(9).sum())";
  private static final long PAUSE_MILLIS = 20;

  private final int rounds;
  private final int warmUp;
  private final Path into;

  private Cells(String[] args) {
    rounds = args.length > 0 ? Integer.parseInt(args[0]) : 200;
    warmUp = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
    into = Path.of(args.length > 2 ? args[2] : System.getProperty("ebb.root") + "/docs");
  }

  public static void main(String[] args) throws Exception {
    new Cells(args).run();
  }

  private void run() throws Exception {
    String before = Machine.load();
    var settings =
        Map.of(
            "EBB_POOL", "fixed",
            "EBB_POOL_MIN", "2",
            "EBB_POOL_INTERPRETERS", "python3:8",
            "EBB_POOL_ZYGOTE", "true");
    var page = new ArrayList<String>();
    try (var daemon = ServedDaemon.start(settings);
        var numpy = ServedDaemon.start(ServedDaemon.WITH_NUMPY);
        EbbClient client = daemon.connect();
        EbbClient numpyClient = numpy.connect()) {
      page.addAll(cells(daemon, client));
      page.addAll(code(daemon, client, numpy, numpyClient));
    }
    write(before, page);
  }

  // --- cells ---

  /** An interpreter that is asked by a line and answers by one: less cannot be done. */
  private record Bare(Process process, BufferedReader answers) implements AutoCloseable {
    private static Bare start() throws IOException {
      String loop = "while True: print(eval(input()), flush=True)";
      Process process = new ProcessBuilder("/usr/bin/python3", "-c", loop).start();
      return new Bare(process, process.inputReader(StandardCharsets.US_ASCII));
    }

    private void ask() throws IOException {
      process.getOutputStream().write("1+1\n".getBytes(StandardCharsets.US_ASCII));
      process.getOutputStream().flush();
      if (!"2".equals(answers.readLine())) {
        throw new IllegalStateException("the interpreter has gone");
      }
    }

    @Override
    public void close() throws IOException {
      process.destroy();
      process.onExit().join();
    }
  }

  private List<String> cells(ServedDaemon daemon, EbbClient client) throws Exception {
    long us = ProcessHandle.current().pid();
    String box = client.boxes().create(BoxRequest.defaults()).id();
    Contexts contexts = client.contexts(box);
    String context = contexts.create(ContextRequest.of("python")).id();
    try (Bare interpreter = Bare.start()) {
      var bare = Series.ofPeer("bare python3, `1+1` by a pipe", interpreter.process().pid());
      var cell = new Series("cell `1+1` of a context over HTTP", us, daemon.pid());
      for (int i = -warmUp; i < rounds; i++) {
        boolean counts = i >= 0;
        bare.measure(interpreter::ask, counts);
        cell.measure(() -> check(contexts.run(context, CellRequest.of("1+1"))), counts);
      }
      double above = cell.percentile(0.5) - bare.percentile(0.5);
      return List.of(
          new Goal("cell `1+1` above the bare interpreter, ms", above, 2).row(),
          "",
          "## Cells",
          head(),
          "|---|---|---|---|---|",
          bare.row(bare),
          cell.row(bare));
    } finally {
      client.boxes().remove(box, true);
    }
  }

  private static void check(CellResult result) {
    var value = result.result().get("text/plain");
    if (value == null || !value.text().equals("2")) {
      throw new IllegalStateException(result.document().toString());
    }
  }

  private String head() {
    return "| " + rounds + " rounds, ms | p50 | p99 | ÷ peer | processor time |";
  }

  // --- code ---

  private List<String> code(
      ServedDaemon daemon, EbbClient client, ServedDaemon numpyDaemon, EbbClient numpyClient)
      throws Exception {
    long us = ProcessHandle.current().pid();
    try (var bwrapPython = Peer.spawning(bwrap(SUM));
        var bwrapNumpy = Peer.spawning(bwrap(NUMPY))) {
      var raw = Series.ofPeer("bwrap, python3 print(1+1)", bwrapPython.pid());
      var run = new Series("python3 -c from the pool, `/v1/run`", us, daemon.pid());
      var code = new Series("python from the pool, `/v1/code`", us, daemon.pid());
      var rawNumpy = Series.ofPeer("bwrap, python3 with numpy", bwrapNumpy.pid());
      var codeNumpy = new Series("python with numpy, `/v1/code`", us, numpyDaemon.pid());
      for (int i = -warmUp / 4; i < rounds; i++) {
        boolean counts = i >= 0;
        raw.take(bwrapPython::nanos, counts);
        pause();
        run.measure(() -> run(client), counts);
        pause();
        code.measure(() -> run(client, SUM), counts);
        rawNumpy.take(bwrapNumpy::nanos, counts);
        pause();
        codeNumpy.measure(() -> run(numpyClient, NUMPY), counts);
      }
      return List.of(
          "",
          "## Code",
          head(),
          "|---|---|---|---|---|",
          raw.row(raw),
          run.row(raw),
          code.row(raw),
          rawNumpy.row(rawNumpy),
          codeNumpy.row(rawNumpy),
          "",
          "| goal | p50 | | |",
          "|---|---|---|---|",
          new Goal("`/v1/code` python ÷ bwrap and python", ratio(code, raw), 0.25).row(),
          new Goal("`/v1/code` with numpy ÷ bwrap and the same", ratio(codeNumpy, rawNumpy), 0.1)
              .row());
    }
  }

  private static double ratio(Series ours, Series peer) {
    return ours.percentile(0.5) / peer.percentile(0.5);
  }

  private static void pause() throws InterruptedException {
    Thread.sleep(PAUSE_MILLIS);
  }

  private static List<String> bwrap(String code) {
    return RawBwrap.byPath(List.of("python3", "-c", code));
  }

  private static void run(EbbClient client) throws Exception {
    Result result = client.run(BoxRequest.defaults(), ExecRequest.of("python3", "-c", SUM));
    if (!result.stdout().text().equals("2\n")) {
      throw new IllegalStateException(result.exec().document().toString());
    }
  }

  private static void run(EbbClient client, String program) throws Exception {
    CodeResult result = client.run(Code.of("python", program));
    if (!result.outcome().equals("ok")) {
      throw new IllegalStateException(result.document().toString());
    }
  }

  private void write(String before, List<String> page) throws Exception {
    var text = new ArrayList<String>();
    text.add("# Code, measured");
    text.add("");
    text.add(method(before));
    text.add("");
    text.add("| goal | p50 | | |");
    text.add("|---|---|---|---|");
    text.addAll(page);
    Files.write(into.resolve("code-report.md"), text);
    text.forEach(System.out::println);
  }

  private String method(String before) throws IOException {
    return String.format(
        Locale.ROOT,
        "`bench/run Cells %d %d`, %s; load %s before, %s after, which the run itself is part of."
            + " Over the daemon's unix socket; code without the certificate, 20 ms between two;"
            + " with `pool.zygote`.",
        rounds,
        warmUp,
        Machine.describe(),
        before,
        Machine.load());
  }
}
