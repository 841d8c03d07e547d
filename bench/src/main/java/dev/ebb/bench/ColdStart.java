package dev.ebb.bench;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Measures one {@code true}, in turn: executed plainly, by raw bwrap, and in a box of Ebb. */
public final class ColdStart {
  private static final Path TRUE = Path.of("/usr/bin/true");
  private static final Path BWRAP = Path.of("/usr/bin/bwrap");
  private static final int WARM_UP = 200;

  private ColdStart() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 300;
    List<Path> homes =
        List.of(Files.createTempDirectory("ebb-bench"), Files.createTempDirectory("ebb-bench"));
    try (var scope = new Scope();
        Engine executing = open(homes.getFirst(), "bwrap");
        Engine cloning = open(homes.getLast(), "forkserver")) {
      Poller poller = Poller.start(scope, "bench-poller");
      var plain = new Series("plain fork+exec");
      var bwrap = new Series("raw bwrap, same isolation");
      var box = new Series("Ebb, cold: box, command, certificate");
      var made = new Series("of that: box made");
      var slow = new Series("the same, bwrap makes the box");
      var slowlyMade = new Series("of that: box made");
      for (int i = -WARM_UP; i < rounds; i++) {
        boolean count = i >= 0;
        plain.measure(() -> spawn(poller, TRUE, List.of("true")), count);
        bwrap.measure(() -> spawn(poller, BWRAP, RawBwrap.commandLine("/usr/bin/true")), count);
        contend(cloning, box, made, count);
        contend(executing, slow, slowlyMade, count);
      }
      System.out.println(
          "| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ bwrap | CPU ms | PIDs |");
      System.out.println("|---|---|---|---|---|---|");
      System.out.println(plain.row(bwrap, 1));
      System.out.println(bwrap.row(bwrap, pidsOfBwrap(scope, poller)));
      System.out.println(box.row(bwrap, pidsOfBox(cloning)));
      System.out.println(made.row(bwrap, 1));
      System.out.println(slow.row(bwrap, pidsOfBox(executing)));
      System.out.println(slowlyMade.row(bwrap, 1));
    } finally {
      for (Path home : homes) {
        ServedDaemon.delete(home);
      }
    }
  }

  private static Engine open(Path home, String maker) {
    System.setProperty("ebb.maker", maker);
    return Engine.open(home);
  }

  private static void contend(Engine engine, Series run, Series made, boolean count)
      throws Exception {
    run.measure(() -> engine.run(BoxSpec.defaults(), ExecSpec.of("/usr/bin/true")), count);
    Box[] living = new Box[1];
    made.measure(() -> living[0] = engine.create(BoxSpec.defaults()), count);
    engine.release(living[0]);
  }

  private static void spawn(Poller poller, Path program, List<String> words) throws Exception {
    try (var scope = new Scope()) {
      await(poller, start(scope, program, words));
    }
  }

  private static Pidfd start(Scope scope, Path program, List<String> words) throws KernelException {
    Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
    return Spawn.spawn(scope, program, words, List.of(nothing, nothing, nothing));
  }

  private static void await(Poller poller, Pidfd process) throws Exception {
    try (var scope = new Scope()) {
      var ended = new Readiness(scope, poller, process.fd(), Poller.Interest.READ);
      if (!ended.await(Deadline.in(Duration.ofSeconds(10)))) {
        throw new IllegalStateException("a contender hangs");
      }
      process.reap();
    }
  }

  private static int pidsOfBox(Engine engine) throws InterruptedException {
    Box box = engine.create(BoxSpec.defaults());
    Exec exec = engine.start(box, ExecSpec.of("/bin/sh", "-c", "echo; exec sleep 60"));
    exec.awaitOutput(0, 0);
    int pids = box.footprint().pids().size();
    engine.release(box);
    return pids;
  }

  private static int pidsOfBwrap(Scope scope, Poller poller) throws Exception {
    Fd.Pipe pipe = Fd.pipe(scope, scope);
    Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
    List<String> words = RawBwrap.commandLine("/bin/sh", "-c", "echo; exec sleep 60");
    Pidfd outer = Spawn.spawn(scope, BWRAP, words, List.of(nothing, pipe.write(), nothing));
    pipe.read().read(new byte[1], 0, 1);
    List<Integer> tree = descendants(outer.pid());
    // The command's end lets bwrap end by itself, and reap.
    Pidfd.open(scope, tree.getLast()).signal(Signal.KILL);
    await(poller, outer);
    return tree.size();
  }

  private static List<Integer> descendants(int root) throws IOException {
    var found = new ArrayDeque<Integer>(List.of(root));
    var tree = new ArrayList<Integer>();
    while (!found.isEmpty()) {
      int pid = found.pop();
      tree.add(pid);
      String children = Files.readString(Path.of("/proc/" + pid + "/task/" + pid + "/children"));
      Stream.of(children.split(" "))
          .filter(c -> !c.isBlank())
          .forEach(c -> found.add(Integer.valueOf(c.strip())));
    }
    return tree;
  }
}
