package dev.ebb.bench;

import dev.ebb.box.Box;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.Limits;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecSpec;
import dev.ebb.ledger.Certificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * From the release of a box to its certificate, by how many processes its command has; in turn with
 * the end of the same command by hand: cgroup.kill, reap, rmdir.
 */
public final class TimeToGone {
  private static final List<Integer> COUNTS = List.of(1, 10, 100, 1000);

  /** For the compiler: by a small box, which costs little. */
  private static final int WARM_UP = 300;

  private TimeToGone() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 100;
    Path home = Files.createTempDirectory("ebb-bench");
    try (Engine engine = Engine.open(home)) {
      for (int i = 0; i < WARM_UP; i++) {
        release(engine, 1);
      }
      System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ raw |");
      System.out.println("|---|---|---|---|");
      for (int count : COUNTS) {
        compare(engine, count, rounds);
      }
    } finally {
      ServedDaemon.delete(home);
    }
  }

  private static void compare(Engine engine, int count, int rounds) throws Exception {
    Path cgroup =
        engine
            .hierarchies()
            .unified()
            .orElseThrow()
            .resolve("bench-" + ProcessHandle.current().pid());
    try (Peer byHand = Peer.reaping(cgroup, command(count))) {
      var raw =
          new Series("raw, " + count + (count == 1 ? " process" : " processes"), byHand.pid());
      var box = new Series("Ebb, the same, to its certificate");
      for (int i = 0; i < rounds; i++) {
        raw.take(byHand::nanos, true);
        box.take(() -> release(engine, count), true);
      }
      System.out.println(raw.timeRow(raw));
      System.out.println(box.timeRow(raw));
    }
  }

  /** A shell and its children, all there when it writes. */
  private static List<String> command(int count) {
    String script =
        "i=1; while [ $i -lt %d ]; do sleep 1000 & i=$((i+1)); done; echo; kill -STOP $$"
            .formatted(count);
    return List.of("/bin/sh", "-c", script);
  }

  /** How many nanoseconds the end of a box takes whose command has so many processes. */
  private static long release(Engine engine, int count) throws InterruptedException {
    var limits = Limits.defaults().withPids(count + 10).withMemory(ByteSize.mebibytes(4096));
    Box box = engine.create(BoxSpec.defaults().withLimits(limits));
    Exec exec = engine.start(box, ExecSpec.of(command(count).toArray(String[]::new)));
    exec.awaitOutput(0, 0);
    long begun = System.nanoTime();
    Certificate certificate = engine.release(box);
    long took = System.nanoTime() - begun;
    if (!certificate.isClean()) {
      throw new IllegalStateException(certificate.toString());
    }
    return took;
  }
}
