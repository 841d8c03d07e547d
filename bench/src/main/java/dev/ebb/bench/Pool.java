package dev.ebb.bench;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Measures the goals of a daemon with a warm pool, in one run, in turn with raw bwrap, crun and
 * runc: one command in a box of its own, python, python with numpy, commands in a box that lives,
 * many clients at once, and many boxes beside.
 *
 * <p>Arguments: the number of rounds, the number of warm-up runs, seconds of each throughput, and
 * the directory for {@code pool-report.md} and {@code pool-report.svg}.
 */
public final class Pool {
  private static final List<String> TRUE = List.of("/usr/bin/true");
  private static final String SUM = "print(1+1)";
  private static final String NUMPY = "import numpy; print(numpy.arange(9).sum())";
  private static final String SCRIPT = "console.log(1+1)";
  private static final int CLIENTS = 8;
  private static final int[] LIVING = {10, 100, 250, 500};
  private static final long PAUSE_MILLIS = 20;

  private final int rounds;
  private final int warmUp;
  private final int seconds;
  private final Path into;
  private final List<String> page = new ArrayList<>();
  private final List<Goal> goals = new ArrayList<>();

  private Pool(String[] args) {
    rounds = argument(args, 0, 200);
    warmUp = argument(args, 1, 4000);
    seconds = argument(args, 2, 10);
    into = Path.of(args.length > 3 ? args[3] : System.getProperty("ebb.root") + "/docs");
  }

  public static void main(String[] args) throws Exception {
    new Pool(args).run();
  }

  private static int argument(String[] args, int index, int otherwise) {
    return args.length > index ? Integer.parseInt(args[index]) : otherwise;
  }

  private void run() throws Exception {
    String before = Machine.load();
    var settings =
        Map.of(
            "EBB_POOL", "fixed",
            "EBB_POOL_MIN", "2",
            "EBB_POOL_MAX", "16",
            "EBB_POOL_INTERPRETERS", "python3:8,node:2",
            "EBB_POOL_ZYGOTE", "true");
    List<Series> plotted = new ArrayList<>();
    try (var daemon = ServedDaemon.start(settings);
        var numpy = ServedDaemon.start(ServedDaemon.WITH_NUMPY);
        EbbClient client = daemon.connect();
        EbbClient numpyClient = numpy.connect();
        var bundle = OciBundle.create(TRUE.getFirst())) {
      warmUp(client, numpyClient);
      plotted.addAll(single(daemon, client, numpy, numpyClient, bundle));
      throughput(daemon);
      living(client);
      page.add("");
      page.add("Made ahead, of what was asked for: " + hits(client));
    }
    write(before, plotted);
  }

  private void warmUp(EbbClient client, EbbClient numpyClient) throws Exception {
    Box box = client.boxes().create(BoxRequest.defaults());
    for (int i = 0; i < warmUp; i++) {
      exec(client, box);
      if (i % 2 == 0) {
        run(client, TRUE);
      }
      if (i % 5 == 0) {
        run(client, python(SUM));
        run(numpyClient, python(NUMPY));
      }
      if (i % 20 == 0) {
        run(client, node(SCRIPT));
      }
    }
    client.boxes().remove(box.id(), true);
  }

  // --- one at a time ---

  private List<Series> single(
      ServedDaemon daemon,
      EbbClient client,
      ServedDaemon numpyDaemon,
      EbbClient numpyClient,
      OciBundle bundle)
      throws Exception {
    long us = ProcessHandle.current().pid();
    Box box = client.boxes().create(BoxRequest.defaults());
    try (var plainly = Peer.spawning(TRUE);
        var byBwrap = Peer.spawning(RawBwrap.byPath(TRUE));
        var byRunc = Peer.spawning(bundle.commandLine(Path.of("/usr/sbin/runc")));
        var byCrun = Peer.withOldCgroups(bundle.commandLine(Path.of("/usr/bin/crun")));
        var bwrapPython = Peer.spawning(RawBwrap.byPath(python(SUM)));
        var bwrapNumpy = Peer.spawning(RawBwrap.byPath(python(NUMPY)));
        var bwrapNode = Peer.spawning(RawBwrap.byPath(node(SCRIPT)))) {
      var plain = Series.ofPeer("plain fork + exec, true", plainly.pid());
      var exec = new Series("exec of true in a living box", us, daemon.pid());
      var bwrap = Series.ofPeer("bwrap, true", byBwrap.pid());
      var crun = Series.ofPeer("crun, true", byCrun.pid());
      var runc = Series.ofPeer("runc, true", byRunc.pid());
      var pool = new Series("true from the pool", us, daemon.pid());
      var proof = new Series("the same, with its certificate", us, daemon.pid());
      var rawPython = Series.ofPeer("bwrap, python3 print(1+1)", bwrapPython.pid());
      var poolPython = new Series("python3 print(1+1) from the pool", us, daemon.pid());
      var rawNumpy = Series.ofPeer("bwrap, python3 with numpy", bwrapNumpy.pid());
      var poolNumpy = new Series("python3 with numpy from the pool", us, numpyDaemon.pid());
      var rawNode = Series.ofPeer("bwrap, node", bwrapNode.pid());
      var poolNode = new Series("node from the pool", us, daemon.pid());
      for (int i = 0; i < rounds; i++) {
        plain.take(plainly::nanos, true);
        exec.measure(() -> exec(client, box), true);
        bwrap.take(byBwrap::nanos, true);
        pause();
        pool.measure(() -> run(client, TRUE), true);
        crun.take(byCrun::nanos, true);
        runc.take(byRunc::nanos, true);
        pause();
        proof.measure(
            () -> check(client.runAndRelease(BoxRequest.defaults(), request(TRUE))), true);
        rawPython.take(bwrapPython::nanos, true);
        pause();
        poolPython.measure(() -> run(client, python(SUM)), true);
        rawNumpy.take(bwrapNumpy::nanos, true);
        pause();
        poolNumpy.measure(() -> run(numpyClient, python(NUMPY)), true);
        rawNode.take(bwrapNode::nanos, true);
        pause();
        poolNode.measure(() -> run(client, node(SCRIPT)), true);
      }
      client.boxes().remove(box.id(), true);
      var fast = new Series("true, one after the other", us, daemon.pid());
      var fastPython = new Series("python3, one after the other", us, daemon.pid());
      var fastNumpy = new Series("numpy, one after the other", us, numpyDaemon.pid());
      for (int i = 0; i < rounds; i++) {
        // Measures each in turn with its peer, so that the load of the host affects both.
        bwrap.take(byBwrap::nanos, true);
        fast.measure(() -> run(client, TRUE), true);
      }
      for (int i = 0; i < rounds; i++) {
        fastPython.measure(() -> run(client, python(SUM)), true);
      }
      for (int i = 0; i < rounds; i++) {
        fastNumpy.measure(() -> run(numpyClient, python(NUMPY)), true);
      }
      head("One at a time", "÷ peer");
      rows(plain, plain, exec);
      rows(bwrap, bwrap, crun, runc, pool, proof, fast);
      rows(rawPython, rawPython, poolPython, fastPython);
      rows(rawNumpy, rawNumpy, poolNumpy, fastNumpy);
      rows(rawNode, rawNode, poolNode);
      goal("exec in a living box ÷ plain fork + exec", exec, plain, 2);
      goal("`true` from the pool ÷ bwrap", pool, bwrap, 0.5);
      goal("the same without a pause ÷ bwrap", fast, bwrap, 0.5);
      goal("python3 from the pool ÷ bwrap and python3", poolPython, rawPython, 0.25);
      goal("the same without a pause", fastPython, rawPython, 0.25);
      goal("python3 with numpy ÷ bwrap and the same", poolNumpy, rawNumpy, 0.1);
      goal("the same without a pause", fastNumpy, rawNumpy, 0.1);
      return List.of(
          plain,
          exec,
          bwrap,
          crun,
          runc,
          pool,
          proof,
          fast,
          rawPython,
          poolPython,
          fastPython,
          rawNumpy,
          poolNumpy,
          fastNumpy,
          rawNode,
          poolNode);
    }
  }

  private void head(String title, String ratio) {
    page.addAll(
        List.of(
            "",
            "## " + title,
            "| " + rounds + " rounds, ms | p50 | p99 | " + ratio + " | processor time |",
            "|---|---|---|---|---|"));
  }

  private void rows(Series peer, Series... all) {
    for (Series each : all) {
      page.add(each.row(peer));
    }
  }

  private void goal(String what, Series ours, Series peer, double most) {
    goals.add(new Goal(what, ours.percentile(0.5) / peer.percentile(0.5), most));
  }

  // --- many at once ---

  private void throughput(ServedDaemon daemon) throws Exception {
    page.addAll(
        List.of(
            "",
            "## " + CLIENTS + " at once, " + seconds + " s each",
            "| a second | bwrap | Ebb | ÷ bwrap |",
            "|---|---|---|---|"));
    compare(daemon, "`true`", TRUE, 1);
    compare(daemon, "python3", python(SUM), 3);
  }

  private void compare(ServedDaemon daemon, String what, List<String> command, double least)
      throws Exception {
    double bwrap = bwrapPerSecond(command);
    double ours = ebbPerSecond(daemon, command);
    page.add(
        String.format(Locale.ROOT, "| %s | %.1f | %.1f | %.2f |", what, bwrap, ours, ours / bwrap));
    goals.add(
        new Goal(what + ", " + CLIENTS + " at once, a second, ÷ bwrap", ours / bwrap, -least));
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
      return Throughput.perSecond(works, seconds);
    } finally {
      for (Peer peer : peers) {
        peer.close();
      }
    }
  }

  private double ebbPerSecond(ServedDaemon daemon, List<String> command) throws Exception {
    var clients = new ArrayList<EbbClient>();
    try {
      var works = new ArrayList<Series.Work>();
      for (int i = 0; i < CLIENTS; i++) {
        EbbClient client = daemon.connect();
        clients.add(client);
        works.add(() -> run(client, command));
      }
      return Throughput.perSecond(works, seconds);
    } finally {
      clients.forEach(EbbClient::close);
    }
  }

  // --- beside many ---

  private void living(EbbClient client) throws Exception {
    page.addAll(
        List.of(
            "",
            "## Beside boxes that live",
            "| boxes | plain fork + exec, p50 ms | exec | true from the pool |",
            "|---|---|---|---|"));
    var boxes = new ArrayList<Box>();
    var execs = new ArrayList<Double>();
    var runs = new ArrayList<Double>();
    try (var plainly = Peer.spawning(TRUE)) {
      for (int count : LIVING) {
        while (boxes.size() < count) {
          boxes.add(client.boxes().create(BoxRequest.defaults()));
        }
        var plain = new Series("plain");
        var exec = new Series("exec");
        var run = new Series("run");
        for (int i = 0; i < rounds; i++) {
          Box box = boxes.get(i % boxes.size());
          plain.take(plainly::nanos, true);
          exec.measure(() -> exec(client, box), true);
          pause();
          run.measure(() -> run(client, TRUE), true);
        }
        execs.add(exec.percentile(0.5));
        runs.add(run.percentile(0.5));
        page.add(
            String.format(
                Locale.ROOT,
                "| %d | %.2f | %.2f | %.2f |",
                count,
                plain.percentile(0.5),
                execs.getLast(),
                runs.getLast()));
      }
    } finally {
      for (Box box : boxes) {
        client.boxes().remove(box.id(), true);
      }
    }
    goals.add(new Goal("exec beside 500 boxes ÷ beside 10", drift(execs), 1.3));
    goals.add(new Goal("`true` from the pool beside 500 ÷ beside 10", drift(runs), 1.3));
  }

  private static double drift(List<Double> medians) {
    return medians.getLast() / medians.getFirst();
  }

  // --- how ---

  private static void pause() throws InterruptedException {
    Thread.sleep(PAUSE_MILLIS);
  }

  private static List<String> python(String code) {
    return List.of("python3", "-c", code);
  }

  private static List<String> node(String code) {
    return List.of("node", "-e", code);
  }

  private static ExecRequest request(List<String> command) {
    return ExecRequest.of(command.toArray(String[]::new));
  }

  private static void run(EbbClient client, List<String> command) throws Exception {
    check(client.run(BoxRequest.defaults(), request(command)));
  }

  private static void exec(EbbClient client, Box box) throws Exception {
    check(client.execs(box.id()).run(request(TRUE)));
  }

  private static void check(Result result) {
    Integer code = result.exec().exitCode();
    if (code == null || code != 0) {
      throw new IllegalStateException(result.exec().document().toString());
    }
  }

  private static String hits(EbbClient client) throws Exception {
    var words = new ArrayList<String>();
    for (JsonObject kind : client.pool().objects("kinds")) {
      String name = kind.string("interpreter").isEmpty() ? "plain" : kind.string("interpreter");
      long hits = kind.number("hits");
      words.add(
          "%s %d of %d, made in %d ms"
              .formatted(name, hits, hits + kind.number("misses"), kind.number("startMillis")));
    }
    return String.join("; ", words) + ".";
  }

  private void write(String before, List<Series> plotted) throws Exception {
    String where = Machine.describe();
    var text = new ArrayList<String>();
    text.add("# The warm pool, measured");
    text.add("");
    text.addAll(method(where, before));
    text.add("");
    text.add("![p50 and p99](pool-report.svg)");
    text.add("");
    text.add("| goal | p50 | | |");
    text.add("|---|---|---|---|");
    goals.forEach(goal -> text.add(goal.row()));
    text.addAll(page);
    Files.write(into.resolve("pool-report.md"), text);
    String title = "p50 (dark) and p99 (light), logarithmic; " + where;
    Files.writeString(into.resolve("pool-report.svg"), Plot.of(title, plotted));
    text.forEach(System.out::println);
  }

  private List<String> method(String where, String before) throws IOException {
    return List.of(
        "`bench/run Pool %d %d %d`, %s; load %s before, %s after, which the run itself is part of."
            .formatted(rounds, warmUp, seconds, where, before, Machine.load()),
        "Over the daemon's unix socket, without the certificate unless it says so, 20 ms between"
            + " two unless it says so. In turn with bwrap, crun and runc from Debian, each with the"
            + " namespaces and mounts of a box; bwrap without cgroups, limits and a seccomp filter,"
            + " crun and runc without the filter. With `pool.zygote`: python3 is copied.");
  }
}
