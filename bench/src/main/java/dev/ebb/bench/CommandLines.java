package dev.ebb.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Measures commands of {@code ebb} as they are typed, beside a daemon of the same home. */
final class CommandLines {
  private static final String BOX = "bench";

  private final EverydayMode mode;
  private final Page page;
  private final ServedDaemon daemon;
  private final PlainClient client;

  CommandLines(EverydayMode mode, Page page, ServedDaemon daemon, PlainClient client) {
    this.mode = mode;
    this.page = page;
    this.daemon = daemon;
    this.client = client;
  }

  void run() throws Exception {
    page.table("Commands as typed", mode.commands() + " rounds, ms", "p50", "p99", "÷ bwrap");
    String box = client.create("{\"name\":\"" + BOX + "\"}");
    try (var bwrap = Peer.spawning(RawBwrap.byPath(List.of("true")))) {
      var peer = Series.ofPeer("bwrap, true");
      for (int i = 0; i < mode.commands(); i++) {
        peer.add(bwrap.nanos());
      }
      page.rows(peer, peer);
      measure(peer, 5, "version");
      measure(peer, 5, "ls");
      measure(peer, 15, "run", "true");
      measure(peer, 15, "exec", BOX, "true");
      measure(peer, 20, "code", "python", PlainClient.SUM);
    } finally {
      client.remove(box);
    }
  }

  private void measure(Series peer, double atMost, String... words) throws Exception {
    var command = new ArrayList<>(List.of(System.getProperty("ebb.root") + "/ebb"));
    command.addAll(List.of(words));
    String name = "ebb " + String.join(" ", words);
    var series = new Series(name);
    try (var typed = Peer.spawning(Map.of("EBB_HOME", daemon.home().toString()), command)) {
      // Finds the files in the cache of the kernel from now on.
      typed.nanos();
      for (int i = 0; i < mode.commands(); i++) {
        mode.pause();
        series.add(typed.nanos());
      }
    }
    page.rows(peer, series);
    page.goal("`" + name + "`, ms", series.percentile(0.5), atMost);
  }
}
