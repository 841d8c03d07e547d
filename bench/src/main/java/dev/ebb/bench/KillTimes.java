package dev.ebb.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Measures the kill of a command with many processes over HTTP, in turn with the same by hand:
 * cgroup.kill, reap, rmdir.
 */
final class KillTimes {
  private static final List<Integer> COUNTS = List.of(100, 1000);

  private static final double GOAL = 1.3;

  private final EverydayMode mode;
  private final Page page;
  private final PlainClient client;

  KillTimes(EverydayMode mode, Page page, PlainClient client) {
    this.mode = mode;
    this.page = page;
    this.client = client;
  }

  void run() throws Exception {
    page.table("Kill of a command", mode.kills() + " rounds, ms", "p50", "p99", "÷ peer");
    for (int count : COUNTS) {
      String box = client.create(ProcessTree.order(count));
      try (Peer peer = Peer.reaping(cgroup(), ProcessTree.command(count))) {
        var bare = Series.ofPeer("cgroup.kill and reap, by hand, " + count + " processes");
        var ours = new Series("kill of a command of " + count + " processes");
        for (int i = 0; i < mode.kills(); i++) {
          bare.add(peer.nanos());
          ours.add(kill(box, count));
        }
        page.rows(bare, bare, ours);
        page.goal("kill of " + count + " processes ÷ by hand", ours, bare, GOAL);
      } finally {
        client.remove(box);
      }
    }
  }

  private static Path cgroup() {
    Path unified = Path.of("/sys/fs/cgroup/unified");
    Path root = Files.isDirectory(unified) ? unified : Path.of("/sys/fs/cgroup");
    return root.resolve("bench-" + ProcessHandle.current().pid());
  }

  /** Returns the nanoseconds until the command is proven gone. */
  private long kill(String box, int count) throws IOException, InterruptedException {
    String execs = "/v1/boxes/" + box + "/execs";
    long number =
        client.ask("POST " + execs + " " + ProcessTree.exec(count)).body().number("number");
    String exec = execs + "/" + number;
    while (client.ask("GET " + exec).body().number("stdoutBytes") == 0) {
      mode.pause();
    }
    return client.ask("POST " + exec + "/kill?graceMillis=0 {}").nanos();
  }
}
