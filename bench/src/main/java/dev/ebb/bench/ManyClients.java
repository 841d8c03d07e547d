package dev.ebb.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Measures eight clients at once, and calls beside many boxes that live. */
final class ManyClients {
  private static final int CLIENTS = 8;

  private final EverydayMode mode;
  private final Page page;
  private final ServedDaemon daemon;

  ManyClients(EverydayMode mode, Page page, ServedDaemon daemon) {
    this.mode = mode;
    this.page = page;
    this.daemon = daemon;
  }

  void throughput() throws Exception {
    page.table(
        CLIENTS + " clients, a fresh box each, " + mode.seconds() + " s",
        "a second",
        "bwrap, " + CLIENTS + " workers",
        "Ebb",
        "÷ bwrap");
    compare("true", PlainClient.RUN_TRUE, List.of("true"), 2);
    compare(
        "python",
        PlainClient.code("python", PlainClient.SUM),
        List.of("python3", "-c", PlainClient.SUM),
        4);
  }

  private void compare(String what, String line, List<String> command, double atLeast)
      throws Exception {
    double bwrap = bwrapPerSecond(command);
    double ours = perSecond(line.replaceFirst("ALONE", "LOOP " + mode.seconds()));
    page.row("| %s | %.1f | %.1f | %.2f |", what, bwrap, ours, ours / bwrap);
    page.goal("`" + what + "`, " + CLIENTS + " clients, ÷ bwrap", ours / bwrap, -atLeast);
  }

  private double bwrapPerSecond(List<String> command) throws Exception {
    var peers = new ArrayList<Peer>();
    try {
      var works = new ArrayList<Series.Work>();
      for (int i = 0; i < CLIENTS; i++) {
        Peer peer = Peer.spawning(RawBwrap.byPath(command));
        peers.add(peer);
        works.add(peer::nanos);
      }
      return Throughput.perSecond(works, mode.seconds());
    } finally {
      for (Peer peer : peers) {
        peer.close();
      }
    }
  }

  /** Counts until the last certificate is there, too. */
  private double perSecond(String line) throws Exception {
    var clients = new ArrayList<PlainClient>();
    try {
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(PlainClient.of(daemon));
      }
      long count = 0;
      long slowest = TimeUnit.SECONDS.toNanos(mode.seconds());
      for (PlainClient client : clients) {
        client.send(line);
      }
      for (PlainClient client : clients) {
        PlainClient.Answer answer = client.read();
        count += answer.complete();
        slowest = Math.max(slowest, answer.nanos());
      }
      return count * 1e9 / slowest;
    } finally {
      for (PlainClient client : clients) {
        client.close();
      }
    }
  }

  // --- beside many boxes ---

  void living(PlainClient client) throws Exception {
    page.table(
        "Beside boxes that live",
        "boxes",
        "plain fork + exec, p50 ms",
        "exec `true`",
        "run `true`");
    var boxes = new ArrayList<String>();
    var execs = new ArrayList<Double>();
    var runs = new ArrayList<Double>();
    try (var plainly = Peer.spawning(List.of("/usr/bin/true"))) {
      for (int count : mode.living()) {
        while (boxes.size() < count) {
          boxes.add(client.create("{}"));
        }
        var plain = Series.ofPeer("plain");
        var exec = new Series("exec");
        var run = new Series("run");
        for (int i = 0; i < mode.rounds(); i++) {
          plain.add(plainly.nanos());
          mode.pause();
          exec.add(client.ask(PlainClient.exec(boxes.get(i % count))).nanos());
          mode.pause();
          run.add(client.ask(PlainClient.RUN_TRUE).nanos());
        }
        execs.add(exec.percentile(0.5) / plain.percentile(0.5));
        runs.add(run.percentile(0.5) / plain.percentile(0.5));
        page.row(
            "| %d | %.2f | %.2f | %.2f |",
            count, plain.percentile(0.5), exec.percentile(0.5), run.percentile(0.5));
      }
    } finally {
      for (String box : boxes) {
        client.remove(box);
      }
    }
    String beside =
        "beside %d boxes ÷ beside %d".formatted(mode.living().getLast(), mode.living().getFirst());
    page.goal("exec `true` " + beside, execs.getLast() / execs.getFirst(), 1.3);
    page.goal("run `true` " + beside, runs.getLast() / runs.getFirst(), 1.3);
  }
}
