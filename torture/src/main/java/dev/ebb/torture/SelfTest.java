package dev.ebb.torture;

import dev.ebb.client.json.JsonObject;
import dev.ebb.kernel.Deadline;
import dev.ebb.oracle.DiskUse;
import dev.ebb.oracle.Footprint;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.Snapshot;
import dev.ebb.oracle.Trace;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Shows that the oracle can fail: each violation is planted, must be seen, and is taken back. */
final class SelfTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Path home;

  /** Of the one who is at it alone: others may test themselves at the same time. */
  private final String name;

  private final List<Result> results = new ArrayList<>();

  /** What came of one: seen, not seen, left after it was taken back, or not tried. */
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

  /** All that the oracle can look at without a daemon: of one's own process what it has of that. */
  private record Looks(Snapshot host, Footprint footprint, DiskUse disk, Path home) {
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

    List<Trace> leaks() throws IOException {
      var all = new ArrayList<>(host.leaksSince());
      all.addAll(ownFootprint().growthSince(footprint));
      all.addAll(DiskUse.of(home).growthSince(disk));
      return all;
    }
  }

  SelfTest(Host host) {
    home = host.home();
    name = "ebb-" + home.getFileName();
  }

  boolean run(boolean json) throws IOException {
    Path instance = home.resolve("instances").resolve(name);
    Files.createDirectories(instance);
    Files.createDirectories(home.resolve("lib"));
    Files.createFile(instance.resolve("ledger"));
    warmUp();
    var ours = new OneHome(home);
    ours.learn();
    try {
      for (Weed weed : new Weeds(home, name).all()) {
        results.add(test(weed, ours));
      }
      results.add(judgement(Invariant.I12, "a second stop that is refused"));
      results.add(judgement(Invariant.I13, "a run that breaks off"));
    } finally {
      Files.delete(instance.resolve("ledger"));
      Files.delete(instance);
    }
    tell(json);
    return results.stream().allMatch(Result::isGood);
  }

  /** The JDK keeps a socket for good with the first that is closed. */
  private static void warmUp() throws IOException {
    new ServerSocket(0, 1, InetAddress.getLoopbackAddress()).close();
    ServerSocketChannel.open().close();
  }

  private static Result test(Weed weed, OneHome ours) throws IOException {
    if (weed.lack().isPresent()) {
      return new Result(weed.invariant(), weed.name(), "skipped", weed.lack().get());
    }
    Looks before = Looks.take(ours);
    Weed.Pulling pulling;
    try {
      pulling = weed.planting().plant();
    } catch (Exception e) {
      return new Result(weed.invariant(), weed.name(), "not planted", String.valueOf(e));
    }
    Optional<Trace> seen;
    try {
      seen = awaitSeen(before, weed.invariant());
    } finally {
      pull(pulling);
    }
    List<Trace> left = awaitNothing(before);
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

  private static Optional<Trace> awaitSeen(Looks looks, Invariant invariant) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      Optional<Trace> seen =
          looks.leaks().stream().filter(trace -> trace.invariant() == invariant).findFirst();
      if (seen.isPresent() || deadline.isOver()) {
        return seen;
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  private static List<Trace> awaitNothing(Looks looks) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    List<Trace> left = looks.leaks();
    while (!left.isEmpty() && !deadline.isOver()) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      left = looks.leaks();
    }
    return left;
  }

  /** What no detector finds on the host but a worker is told by the daemon. */
  private static Result judgement(Invariant invariant, String what) {
    var tally = new Tally();
    tally.broken(invariant, what, "self-test");
    return new Result(invariant, what, tally.isClean() ? "NOT SEEN" : "seen", "told to the tally");
  }

  private void tell(boolean json) {
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
