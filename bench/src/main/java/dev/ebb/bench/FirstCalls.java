package dev.ebb.bench;

import java.io.IOException;
import java.util.List;

/**
 * Measures the first 60 calls of a kind after the start of a daemon on a fresh home, in turn with a
 * peer; again and again, with a daemon each.
 */
final class FirstCalls {
  private static final int CALLS = 60;
  private static final double GOAL = 1.3;

  private final EverydayMode mode;
  private final Page page;

  FirstCalls(EverydayMode mode, Page page) {
    this.mode = mode;
    this.page = page;
  }

  /** What is called; {@code line} may need a box that is there before the first call. */
  private interface Calls {
    String line(PlainClient client) throws IOException;
  }

  void run(WarmCalls warm) throws Exception {
    page.table(
        "The first calls, " + mode.starts() + " daemons of each kind",
        "ms",
        "p50",
        "p99",
        "÷ peer");
    var trueByBwrap = RawBwrap.byPath(List.of("true"));
    var sumByBwrap = RawBwrap.byPath(List.of("python3", "-c", PlainClient.SUM));
    measure("run `true`", trueByBwrap, _ -> PlainClient.RUN_TRUE, warm.runTrue());
    measure("python", sumByBwrap, _ -> PlainClient.code("python", PlainClient.SUM), warm.python());
    measure(
        "exec `true`",
        List.of("/usr/bin/true"),
        client -> PlainClient.exec(client.create("{}")),
        warm.exec());
  }

  private void measure(String what, List<String> command, Calls calls, WarmCalls.Pair warm)
      throws Exception {
    var peer = Series.ofPeer(what + ": " + warm.peer().name());
    var first = new Series(what + ": call 1");
    var next = new Series(what + ": calls 2 to " + CALLS);
    for (int start = 0; start < mode.starts(); start++) {
      try (var by = Peer.spawning(command);
          var daemon = ServedDaemon.startDefault();
          var client = PlainClient.of(daemon)) {
        String line = calls.line(client);
        for (int i = 0; i < CALLS; i++) {
          peer.add(by.nanos());
          mode.pause();
          (i == 0 ? first : next).add(client.ask(line).nanos());
        }
      }
    }
    page.rows(peer, peer, first, next);
    double slower = ratio(next, peer) / ratio(warm.ours(), warm.peer());
    page.goal("calls 2 to " + CALLS + " ÷ warm, each ÷ its peer: " + what, slower, GOAL);
  }

  private static double ratio(Series ours, Series peer) {
    return ours.percentile(0.5) / peer.percentile(0.5);
  }
}
