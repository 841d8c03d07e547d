package dev.ebb.bench;

import dev.ebb.box.Box;
import dev.ebb.box.Footprint;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Limits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Measures how long the end of a command and the end of its box take, by the number of processes.
 * Its rounds alternate with the end of the same command by hand (cgroup.kill, reap, rmdir): in one
 * cgroup and nothing else, and in as many cgroups and namespaces as a box has, with a directory of
 * logs.
 *
 * <p>Arguments: the number of rounds, and the directory in which to make Ebb's home.
 */
public final class TimeToGone {
  private static final List<Integer> COUNTS = List.of(1, 10, 100, 1000);

  /**
   * Rounds before the measurement, with a small box, in which the JIT compiler compiles the code.
   */
  private static final int WARM_UP = 300;

  private TimeToGone() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 100;
    Path parent = Path.of(args.length > 1 ? args[1] : System.getProperty("java.io.tmpdir"));
    Path home = Files.createTempDirectory(parent, "ebb-bench");
    try (Engine engine = Engine.open(home)) {
      warmUp(engine);
      System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | ÷ bare | ÷ alike |");
      System.out.println("|---|---|---|---|---|");
      for (int count : COUNTS) {
        compare(engine, count, rounds);
      }
    } finally {
      ServedDaemon.delete(home);
    }
  }

  private static void warmUp(Engine engine) throws Exception {
    Box living = create(engine, 1);
    for (int i = 0; i < WARM_UP; i++) {
      kill(engine, living, 1);
      release(engine, 1);
    }
    engine.release(living);
  }

  private static void compare(Engine engine, int count, int rounds) throws Exception {
    String name = "bench-" + ProcessHandle.current().pid();
    List<Path> cgroups = engine.hierarchies().everywhere(name);
    List<String> command = ProcessTree.command(count);
    Box living = create(engine, count);
    try (Peer bare = Peer.reaping(cgroups.getFirst().resolveSibling(name + "-bare"), command);
        Peer alike = Peer.reapingBox(cgroups, command)) {
      var rawBare = new Series(count + ", bare: one cgroup, by hand", bare.pid());
      var killed = new Series(count + ", Ebb: a command, its box lives on");
      var rawAlike = new Series(count + ", alike: all that a box has, by hand", alike.pid());
      var released = new Series(count + ", Ebb: a box, to its certificate");
      for (int i = 0; i < rounds; i++) {
        rawBare.take(bare::nanos, true);
        killed.take(() -> kill(engine, living, count), true);
        rawAlike.take(alike::nanos, true);
        released.take(() -> release(engine, count), true);
      }
      System.out.println(rawBare.timeRow(rawBare) + " |");
      System.out.println(killed.timeRow(rawBare) + " |");
      System.out.println(rawAlike.timeRow(rawBare, rawAlike));
      System.out.println(released.timeRow(rawBare, rawAlike));
    } finally {
      engine.release(living);
    }
  }

  private static Box create(Engine engine, int count) {
    var limits = Limits.defaults().withPids(count + 10).withMemory(ByteSize.mebibytes(4096));
    return engine.create(BoxSpec.defaults().withLimits(limits));
  }

  private static Exec start(Engine engine, Box box, int count) throws InterruptedException {
    Exec exec = engine.start(box, ExecSpec.of(ProcessTree.command(count).toArray(String[]::new)));
    exec.awaitOutput(0, 0);
    return exec;
  }

  /** Returns the nanoseconds until a command of {@code count} processes is killed and seen gone. */
  private static long kill(Engine engine, Box box, int count) throws InterruptedException {
    try (Exec exec = start(engine, box, count)) {
      long begun = System.nanoTime();
      ExecResult result = exec.killAndAwait(Duration.ZERO);
      long took = System.nanoTime() - begun;
      boolean isGone = isIdle(box.footprint());
      if (!isGone || !(result.cause() instanceof ExitCause.Killed)) {
        throw new IllegalStateException("a command was not killed, or has left something");
      }
      return took;
    }
  }

  private static boolean isIdle(Footprint footprint) {
    return footprint.pids().equals(List.of(footprint.initPid())) && !footprint.hasLeaf();
  }

  /** Returns the nanoseconds until a box with a command of {@code count} processes is released. */
  private static long release(Engine engine, int count) throws InterruptedException {
    Box box = create(engine, count);
    start(engine, box, count);
    long begun = System.nanoTime();
    Certificate certificate = engine.release(box);
    long took = System.nanoTime() - begun;
    if (!certificate.isClean()) {
      throw new IllegalStateException(certificate.toString());
    }
    return took;
  }
}
