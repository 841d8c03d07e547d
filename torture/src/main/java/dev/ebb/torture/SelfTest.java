package dev.ebb.torture;

import dev.ebb.json.JsonObject;
import dev.ebb.kernel.Deadline;
import dev.ebb.oracle.DiskUse;
import dev.ebb.oracle.Footprint;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.Snapshot;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.Host;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Shows that the oracle can fail: each violation is planted, must be seen, and is taken back. */
final class SelfTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(20);

  private final Host host;
  private final Path home;

  /** Unique to this run: other runs may test themselves at the same time. */
  private final String name;

  private final List<Result> results = new ArrayList<>();

  /** The result of one plant: seen, not seen, left after its removal, or not tried. */
  private record Result(Invariant invariant, String name, String verdict, String details) {
    boolean isGood() {
      return verdict.equals("seen") || verdict.equals("skipped");
    }

    JsonObject document() {
      return JsonObject.empty()
          .with("invariant", invariant.name())
          .with("planted", name)
          .with("verdict", verdict)
          .with("details", details);
    }
  }

  /** Returns what is there now and should not be. */
  interface Look {
    List<Trace> leaks() throws IOException;
  }

  /** All that the oracle can look at without a daemon: of one's own process what it has of that. */
  private record Looks(Snapshot host, Footprint footprint, DiskUse disk, Path home)
      implements Look {
    static Looks take(OneHome ours) throws IOException {
      return new Looks(
          Snapshot.take(Judge.detectors(ours)),
          ownFootprint(),
          DiskUse.of(ours.path()),
          ours.path());
    }

    private static Footprint ownFootprint() throws IOException {
      return Footprint.of((int) ProcessHandle.current().pid());
    }

    @Override
    public List<Trace> leaks() throws IOException {
      var all = new ArrayList<>(host.leaksSince());
      all.addAll(ownFootprint().growthSince(footprint));
      all.addAll(DiskUse.of(home).growthSince(disk));
      return all;
    }
  }

  SelfTest(Host host) {
    this.host = host;
    home = host.home();
    name = "ebb-" + home.getFileName();
  }

  boolean run(boolean json) throws IOException {
    var ours = new OneHome(home);
    testOracle(ours);
    testAnswers(ours);
    print(json);
    return results.stream().allMatch(Result::isGood);
  }

  /** Tests the detectors of the host. */
  private void testOracle(OneHome ours) throws IOException {
    Path instance = home.resolve("instances").resolve(name);
    Files.createDirectories(instance);
    Files.createDirectories(home.resolve("lib"));
    Files.createFile(instance.resolve("ledger"));
    warmUp();
    ours.learn();
    try {
      for (Weed weed : new Weeds(home, name).all()) {
        results.add(weed.lack().isPresent() ? lacking(weed) : test(weed, Looks.take(ours)));
      }
    } finally {
      Files.delete(instance.resolve("ledger"));
      Files.delete(instance);
    }
  }

  /** Tests the detectors of wrong answers of a daemon. */
  private void testAnswers(OneHome ours) throws IOException {
    Snapshot before = Snapshot.take(Judge.detectors(ours));
    var daemon = new ServedHome(host, ours);
    try (daemon) {
      daemon.start();
      var weeds = new ServedWeeds(daemon);
      var removal = weeds.new Removal();
      results.add(test(Weed.of(Invariant.I12, "a refused removal", removal::plant), removal));
      var record = weeds.new EndRecord();
      results.add(test(Weed.of(Invariant.I13, "a forgotten time", record::plant), record));
      testTruth(weeds);
    }
    for (Trace left : awaitNothing(before::leaksSince)) {
      results.add(new Result(left.invariant(), "nothing, by a daemon", "LEFT", left.toString()));
    }
  }

  private void testTruth(ServedWeeds weeds) throws IOException {
    var timeout = weeds.new Timeout();
    results.add(test(Weed.of(Invariant.I14, "a wrong timeout", timeout::plant), timeout));
    var output = weeds.new ShortOutput();
    results.add(test(Weed.of(Invariant.I14, "truncated output", output::plant), output));
    var silence = weeds.new Silence();
    results.add(test(Weed.of(Invariant.I14, "no answer", silence::plant), silence));
  }

  /** The JDK keeps a socket for good with the first that is closed. */
  private static void warmUp() throws IOException {
    new ServerSocket(0, 1, InetAddress.getLoopbackAddress()).close();
    ServerSocketChannel.open().close();
  }

  private static Result lacking(Weed weed) {
    return new Result(weed.invariant(), weed.name(), "skipped", weed.lack().orElse(""));
  }

  private static Result test(Weed weed, Look look) throws IOException {
    List<Trace> early = awaitNothing(look);
    if (!early.isEmpty()) {
      return new Result(weed.invariant(), weed.name(), "SEEN EARLY", early.getFirst().toString());
    }
    Weed.Pulling pulling;
    try {
      pulling = weed.planting().plant();
    } catch (Exception e) {
      return new Result(weed.invariant(), weed.name(), "not planted", String.valueOf(e));
    }
    return test(weed, look, pulling);
  }

  /** Looks for what was planted, and pulls it. */
  private static Result test(Weed weed, Look look, Weed.Pulling pulling) throws IOException {
    Optional<Trace> seen;
    try {
      seen = awaitSeen(look, weed.invariant());
    } finally {
      pull(pulling);
    }
    List<Trace> left = awaitNothing(look);
    String verdict = seen.isPresent() ? "seen" : "NOT SEEN";
    return left.isEmpty()
        ? new Result(weed.invariant(), weed.name(), verdict, seen.map(Trace::toString).orElse(""))
        : new Result(weed.invariant(), weed.name(), "LEFT", left.getFirst().toString());
  }

  private static void pull(Weed.Pulling pulling) throws IOException {
    try {
      pulling.pull();
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }

  private static Optional<Trace> awaitSeen(Look look, Invariant invariant) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      Optional<Trace> seen =
          look.leaks().stream().filter(trace -> trace.invariant() == invariant).findFirst();
      if (seen.isPresent() || !deadline.pause(LOOK_AGAIN)) {
        return seen;
      }
    }
  }

  private static List<Trace> awaitNothing(Look look) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    List<Trace> left = look.leaks();
    while (!left.isEmpty() && deadline.pause(LOOK_AGAIN)) {
      left = look.leaks();
    }
    return left;
  }

  private void print(boolean json) {
    if (json) {
      System.out.println(
          JsonObject.empty().with("planted", results.stream().map(Result::document).toList()));
      return;
    }
    for (Result each : results) {
      System.out.printf(
          "%-10s %-4s %-34s %s%n", each.verdict(), each.invariant(), each.name(), each.details());
    }
  }
}
