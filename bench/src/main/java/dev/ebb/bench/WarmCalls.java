package dev.ebb.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Measures calls of a warm daemon, in turn with what does the same without it. */
final class WarmCalls {
  /** Calls without a pause between two calls of the peer. */
  private static final int IN_A_ROW = 10;

  private final EverydayMode mode;
  private final Page page;
  private final PlainClient client;

  private final Pair exec = Pair.of("plain fork + exec, true", "exec of true in a living box");
  private final Pair run = Pair.of("bwrap, true", "run true: answer");
  private final Pair python = Pair.of("bwrap, python3 print(1+1)", "code python: answer");
  private final Pair numpy = Pair.of("bwrap, python3 with numpy", "code python with numpy: answer");
  private final Pair node = Pair.of("bwrap, node console.log(1)", "code javascript: answer");
  private final Pair cell = Pair.of("bare python3, 1+1 by a pipe", "cell 1+1 of a context");
  private final Series runComplete = new Series("run true: with its certificate");
  private final Series pythonComplete = new Series("code python: with its certificate");
  private final Series crun = Series.ofPeer("crun, true");
  private final Series bare = Series.ofPeer("python3 without a sandbox");
  private final Series bareNode = Series.ofPeer("node without a sandbox");

  WarmCalls(EverydayMode mode, Page page, PlainClient client) {
    this.mode = mode;
    this.page = page;
    this.client = client;
  }

  /** Ours, and what it is compared with. */
  record Pair(Series peer, Series ours) {
    private static Pair of(String peer, String ours) {
      return new Pair(Series.ofPeer(peer), new Series(ours));
    }
  }

  Pair exec() {
    return exec;
  }

  Pair runTrue() {
    return run;
  }

  Pair python() {
    return python;
  }

  // --- one at a time, with pauses ---

  void sparse() throws Exception {
    String box = client.create("{}");
    String contexts = "POST /v1/boxes/" + box + "/contexts";
    String context = client.ask(contexts + " {\"language\":\"python\"}").body().string("id");
    String ask = contexts + "/" + context + "/cells {\"code\":\"1+1\"}";
    warmUp(box, ask);
    try (var bundle = OciBundle.create("/usr/bin/true");
        var plainly = Peer.spawning(List.of("/usr/bin/true"));
        var byBwrap = Peer.spawning(RawBwrap.byPath(List.of("true")));
        var byCrun = Peer.withOldCgroups(bundle.commandLine(Path.of("/usr/bin/crun")));
        var barePython = Peer.spawning(program("python3", "-c", PlainClient.SUM));
        var bwrapPython = Peer.spawning(wrapped("python3", "-c", PlainClient.SUM));
        var bwrapNumpy = Peer.spawning(wrapped("python3", "-c", PlainClient.NUMPY));
        var plainNode = Peer.spawning(program("node", "-e", PlainClient.SCRIPT));
        var bwrapNode = Peer.spawning(wrapped("node", "-e", PlainClient.SCRIPT))) {
      for (int i = 0; i < mode.rounds(); i++) {
        exec.peer().add(plainly.nanos());
        call(exec.ours(), PlainClient.exec(box));
        cell.peer().add(client.ask("BARE").nanos());
        call(cell.ours(), ask);
        run.peer().add(byBwrap.nanos());
        alone(run.ours(), runComplete, PlainClient.RUN_TRUE);
        crun.add(byCrun.nanos());
        bare.add(barePython.nanos());
        python.peer().add(bwrapPython.nanos());
        alone(python.ours(), pythonComplete, PlainClient.code("python", PlainClient.SUM));
        numpy.peer().add(bwrapNumpy.nanos());
        call(numpy.ours(), PlainClient.code("python", PlainClient.NUMPY));
        bareNode.add(plainNode.nanos());
        node.peer().add(bwrapNode.nanos());
        call(node.ours(), PlainClient.code("javascript", PlainClient.SCRIPT));
      }
    }
    client.remove(box);
    report();
  }

  private void warmUp(String box, String cellLine) throws IOException {
    for (int i = 0; i < mode.warmUp(); i += 10) {
      for (int j = 0; j < 4; j++) {
        client.ask(PlainClient.RUN_TRUE);
        client.ask(PlainClient.exec(box));
      }
      client.ask(PlainClient.code("python", PlainClient.SUM));
      client.ask(cellLine);
    }
  }

  private void call(Series series, String line) throws Exception {
    mode.pause();
    series.add(client.ask(line).nanos());
  }

  private void alone(Series answer, Series complete, String line) throws Exception {
    mode.pause();
    PlainClient.Answer got = client.ask(line);
    answer.add(got.nanos());
    complete.add(got.complete());
  }

  private void report() {
    page.table(
        "Warm calls, 20 ms between two", mode.rounds() + " rounds, ms", "p50", "p99", "÷ peer");
    page.rows(exec.peer(), exec.peer(), exec.ours());
    page.rows(run.peer(), run.peer(), crun, run.ours(), runComplete);
    page.rows(python.peer(), bare, python.peer(), python.ours(), pythonComplete);
    page.rows(numpy.peer(), numpy.peer(), numpy.ours());
    page.rows(node.peer(), bareNode, node.peer(), node.ours());
    page.rows(cell.peer(), cell.peer(), cell.ours());
    page.goal("run `true`, answer ÷ bwrap", run.ours(), run.peer(), 0.35);
    page.goal("run `true`, complete ÷ bwrap", runComplete, run.peer(), 0.5);
    page.goal("code python, answer ÷ bwrap and python", python.ours(), python.peer(), 0.2);
    page.goal("code javascript ÷ bwrap and node", node.ours(), node.peer(), 0.3);
    page.goal("exec `true` in a living box ÷ plain fork + exec", exec.ours(), exec.peer(), 1.8);
    double above = cell.ours().percentile(0.5) - cell.peer().percentile(0.5);
    page.goal("cell `1+1` above the bare interpreter, ms", above, 1);
  }

  // --- one at a time, without a pause ---

  void sustained() throws Exception {
    page.table(
        "One after the other, without a pause",
        mode.rounds() + " calls, ms",
        "p50",
        "p99",
        "÷ peer");
    sustained("true", PlainClient.RUN_TRUE, "true");
    sustained(
        "python", PlainClient.code("python", PlainClient.SUM), "python3", "-c", PlainClient.SUM);
    Pair withNumpy =
        sustained(
            "numpy",
            PlainClient.code("python", PlainClient.NUMPY),
            "python3",
            "-c",
            PlainClient.NUMPY);
    page.goal(
        "code python with numpy, without a pause ÷ bwrap and the same",
        withNumpy.ours(),
        withNumpy.peer(),
        0.08);
  }

  private Pair sustained(String what, String line, String... command) throws Exception {
    Pair pair = Pair.of("bwrap, " + what + ", between", what + ": answer, without a pause");
    try (var peer = Peer.spawning(wrapped(command))) {
      for (int i = 0; i < mode.rounds(); i++) {
        if (i % IN_A_ROW == 0) {
          pair.peer().add(peer.nanos());
        }
        pair.ours().add(client.ask(line).nanos());
      }
    }
    page.rows(pair.peer(), pair.peer(), pair.ours());
    return pair;
  }

  // --- the peers ---

  private static List<String> wrapped(String... command) {
    return RawBwrap.byPath(List.of(command));
  }

  private static List<String> program(String... command) {
    var words = new ArrayList<>(List.of(command));
    words.set(0, "/usr/bin/" + command[0]);
    return words;
  }
}
