package dev.ebb.bench;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import java.util.List;

/**
 * Measures one {@code true} that a client requests over the daemon's unix socket, in a living box
 * and in a box of its own; in turn with a small process that forks and executes it, plainly and by
 * raw bwrap.
 *
 * <p>Arguments: the number of rounds, and the number of execs and runs to warm up with.
 */
public final class DaemonCalls {
  private static final String TRUE = "/usr/bin/true";

  /**
   * A method is compiled by C2 when it was called 5,000 times: a daemon lives long, and so do its
   * clients.
   */
  private static final int WARM_UP_EXECS = 15_000;

  private static final int WARM_UP_RUNS = 5_500;

  /**
   * The first of these finds the caches of the processor as others left them, and is not counted.
   */
  private static final int IN_A_ROW = 6;

  private DaemonCalls() {}

  public static void main(String[] args) throws Exception {
    int rounds = argument(args, 0, 300);
    try (var plainly = Peer.spawning(List.of(TRUE));
        var byBwrap = Peer.spawning(RawBwrap.byPath(List.of(TRUE)));
        var daemon = ServedDaemon.start();
        var executing = ServedDaemon.start("-Debb.maker=bwrap");
        EbbClient client = daemon.connect();
        EbbClient slowClient = executing.connect()) {
      Box box = client.boxes().create(BoxRequest.defaults());
      int execs = argument(args, 1, WARM_UP_EXECS);
      int runs = argument(args, 2, WARM_UP_RUNS);
      warmUp(client, box, execs, runs);
      warmUpRuns(slowClient, runs);

      long us = ProcessHandle.current().pid();
      long init = init(client, box);
      var plain = new Series("plain fork + exec", plainly.pid());
      var bwrap = new Series("raw bwrap, same isolation", byBwrap.pid());
      var exec = new Series("exec in a living box, one connection", us, daemon.pid(), init);
      var anew = new Series("the same, a connection each", us, daemon.pid(), init);
      var plainOften = new Series("plain fork + exec, one after the other", plainly.pid());
      var execOften =
          new Series("exec in a living box, one after the other", us, daemon.pid(), init);
      var run = new Series("run in a box of its own", us, daemon.pid(), daemon.forkserver());
      var slow = new Series("the same, bwrap makes the box", us, executing.pid());
      for (int i = 0; i < rounds; i++) {
        plain.take(plainly::nanos, true);
        exec.measure(() -> exec(client, box), true);
        anew.measure(() -> execAnew(daemon, box), true);
        for (int j = 0; j < IN_A_ROW; j++) {
          plainOften.take(plainly::nanos, j > 0);
        }
        for (int j = 0; j < IN_A_ROW; j++) {
          execOften.measure(() -> exec(client, box), j > 0);
        }
        bwrap.take(byBwrap::nanos, true);
        run.measure(() -> run(client), true);
        slow.measure(() -> run(slowClient), true);
      }
      client.boxes().remove(box.id(), true);
      System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ peer | CPU ms |");
      System.out.println("|---|---|---|---|---|");
      System.out.println(plain.row(plain));
      System.out.println(exec.row(plain));
      System.out.println(anew.row(plain));
      System.out.println(plainOften.row(plainOften));
      System.out.println(execOften.row(plainOften));
      System.out.println(bwrap.row(bwrap));
      System.out.println(run.row(bwrap));
      System.out.println(slow.row(bwrap));
    }
  }

  private static int argument(String[] args, int index, int otherwise) {
    return args.length > index ? Integer.parseInt(args[index]) : otherwise;
  }

  /** Everything is called at least as often as it takes to be compiled. */
  private static void warmUp(EbbClient client, Box box, int execs, int runs) throws Exception {
    for (int i = 0; i < execs; i++) {
      exec(client, box);
    }
    warmUpRuns(client, runs);
  }

  private static void warmUpRuns(EbbClient client, int runs) throws Exception {
    for (int i = 0; i < runs; i++) {
      run(client);
    }
  }

  private static void exec(EbbClient client, Box box) throws Exception {
    check(client.execs(box.id()).run(ExecRequest.of(TRUE)));
  }

  private static void execAnew(ServedDaemon daemon, Box box) throws Exception {
    try (EbbClient client = daemon.connect()) {
      exec(client, box);
    }
  }

  private static void run(EbbClient client) throws Exception {
    check(client.runAndRelease(BoxRequest.defaults(), ExecRequest.of(TRUE)));
  }

  private static void check(Result result) {
    Integer code = result.exec().exitCode();
    if (code == null || code != 0) {
      throw new IllegalStateException(result.exec().document().toString());
    }
  }

  /** The host pid of the box's pid 1, the only process of a box without commands. */
  private static long init(EbbClient client, Box box) throws Exception {
    return client.boxes().inspect(box.id()).holdings().stream()
        .filter(holding -> holding.kind().equals("process"))
        .mapToLong(holding -> Long.parseLong(holding.subject()))
        .findFirst()
        .orElseThrow();
  }
}
