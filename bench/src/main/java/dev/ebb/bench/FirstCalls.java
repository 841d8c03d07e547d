package dev.ebb.bench;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Measures the first 60 calls of a kind after the start of a daemon on a fresh home, in turn with a
 * peer; again and again, with a daemon each.
 */
final class FirstCalls {
  private static final int CALLS = 60;
  private static final double GOAL = 1.3;

  /** How long the daemon may prepare itself before the first call. */
  private static final int REST_SECONDS = 10;

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
    var first = new Series(what + ": call 1, at once");
    var next = new Series(what + ": calls 2 to " + CALLS + ", at once");
    var late = new Series(what + ": calls 1 to " + CALLS + ", " + REST_SECONDS + " s later");
    for (int start = 0; start < mode.starts(); start++) {
      call(command, calls, 0, peer, first, next);
      call(command, calls, REST_SECONDS, peer, late, late);
    }
    page.rows(peer, peer, first, next, late);
    String goal = " ÷ warm, each ÷ its peer: " + what;
    double usual = ratio(warm.ours(), warm.peer());
    page.goal("calls 2 to " + CALLS + goal, ratio(next, peer) / usual, GOAL);
    page.goal(
        "calls from " + REST_SECONDS + " s after the start" + goal,
        ratio(late, peer) / usual,
        GOAL);
  }

  /** Calls a daemon of its own that has been ready for some seconds. */
  private void call(
      List<String> command, Calls calls, int seconds, Series peer, Series first, Series next)
      throws Exception {
    try (var by = Peer.spawning(command);
        var daemon = ServedDaemon.startDefault()) {
      TimeUnit.SECONDS.sleep(seconds);
      try (var client = PlainClient.of(daemon)) {
        String line = calls.line(client);
        for (int i = 0; i < CALLS; i++) {
          peer.add(by.nanos());
          mode.pause();
          (i == 0 ? first : next).add(client.ask(line).nanos());
        }
      }
    }
  }

  private static double ratio(Series ours, Series peer) {
    return ours.percentile(0.5) / peer.percentile(0.5);
  }
}
