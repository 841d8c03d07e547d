package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Self;
import dev.ebb.oracle.Cgroups;
import dev.ebb.oracle.ClaimedUids;
import dev.ebb.oracle.Detector;
import dev.ebb.oracle.DiskUse;
import dev.ebb.oracle.Footprint;
import dev.ebb.oracle.HomeFiles;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Mounts;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.Ports;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.Processes;
import dev.ebb.oracle.SharedMemory;
import dev.ebb.oracle.Snapshot;
import dev.ebb.oracle.Trace;
import dev.ebb.oracle.UnixSockets;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Asks the oracle: of one box when it is gone, of all when no box is left, and of the host when the
 * daemon has ended. Thread-safe, but for the looks at the whole.
 */
final class Judge {
  /** The sockets of a daemon in its home. */
  private static final Set<String> SOCKETS = Set.of("ebb.sock", "ebb.sock.cli");

  /** How long the kernel may take for what was not certified. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final Duration LOOK_AGAIN = Duration.ofMillis(20);

  private static final Set<Invariant> OF_HOST =
      EnumSet.of(
          Invariant.I1,
          Invariant.I2,
          Invariant.I3,
          Invariant.I4,
          Invariant.I5,
          Invariant.I6,
          Invariant.I8,
          Invariant.I9,
          Invariant.I11);

  private final OneHome home;
  private final Tally tally;
  private final Snapshot before;
  private @Nullable Footprint footprint;
  private @Nullable DiskUse diskUse;

  /** Looks at the host as it is before there is a daemon. */
  Judge(OneHome home, Tally tally) {
    this.home = home;
    this.tally = tally;
    before = Snapshot.take(detectors(home));
    if (Self.uid() != 0) {
      tally.skip("I11: boxes of an ordinary user have the uid of that user");
    }
  }

  static List<Detector> detectors(OneHome home) {
    return List.of(
        new Processes(home),
        new Cgroups(home),
        new Mounts(home),
        new UnixSockets(home),
        new ClaimedUids(home),
        new SharedMemory(home),
        new Ports(),
        new HomeFiles(() -> Set.of(home.path())));
  }

  // --- of one box ---

  /**
   * Checks that nothing is left of a box.
   *
   * @param patience zero if a certificate states that its end was observed; longer for a box that
   *     died with its daemon
   */
  void gone(Held held, String where, Duration patience) throws IOException {
    List<Trace> left = await(held::leftProcesses, patience);
    for (Invariant each : List.of(Invariant.I1, Invariant.I2, Invariant.I3)) {
      tally.checked(each, where, of(each, left));
    }
    tally.checked(Invariant.I4, where, await(held::leftCgroups, patience));
    tally.checked(Invariant.I6, where, await(held::leftDirectories, patience));
    tally.checked(Invariant.I8, where, await(() -> held.leftLines(home.path()), patience));
  }

  private static List<Trace> of(Invariant invariant, List<Trace> traces) {
    return traces.stream().filter(trace -> trace.invariant() == invariant).toList();
  }

  private interface Look {
    List<Trace> look() throws IOException;
  }

  /** Looks until nothing is left, or returns what is left when time is up. */
  private static List<Trace> await(Look look, Duration patience) throws IOException {
    Deadline deadline = Deadline.in(patience);
    List<Trace> left = look.look();
    while (!left.isEmpty() && deadline.pause(LOOK_AGAIN)) {
      left = look.look();
    }
    return left;
  }

  // --- of all ---

  /** Remembers what the idle, warm daemon has: it may have that later, too. */
  void takeBaseline(ServedHome daemon) throws IOException {
    daemon.disconnect();
    Footprint least = Footprint.of(daemon.pid());
    Deadline deadline = Deadline.in(Duration.ofSeconds(2));
    while (deadline.pause(LOOK_AGAIN)) {
      Footprint now = Footprint.of(daemon.pid());
      least = now.sum() < least.sum() ? now : least;
    }
    footprint = least;
    diskUse = DiskUse.of(home.path());
    daemon.reconnect();
  }

  /** Checks for what a sweep of the daemon would find: differences between host and ledger. */
  private static List<Trace> toSweep(ServedHome daemon) throws IOException {
    return daemon.client().sweep(true).findings().stream()
        .map(
            found ->
                new Trace(
                    Invariant.I8, "sweep", found.subject(), found.kind() + " " + found.subject()))
        .toList();
  }

  /** Judges when no box is left: the daemon has what it had before, the host nothing else of it. */
  void idle(ServedHome daemon, String where) throws IOException {
    List<Trace> listed = new ArrayList<>();
    for (Box box : daemon.client().boxes().list(BoxQuery.all())) {
      listed.add(new Trace(Invariant.I8, "box", box.id(), box.id() + " " + box.state().wireName()));
    }
    tally.checked(Invariant.I8, where, await(() -> toSweep(daemon), PATIENCE));
    daemon.disconnect();
    List<Trace> left = await(() -> leftOfBoxes(daemon), PATIENCE);
    for (Invariant each : OF_HOST) {
      tally.checked(each, where, of(each, left));
    }
    tally.checked(Invariant.I8, where, listed);
    checkGrowth(daemon, where);
    daemon.reconnect();
  }

  private void checkGrowth(ServedHome daemon, String where) throws IOException {
    Footprint baseline = footprint;
    if (baseline != null) {
      Footprint given = daemon.isLogBlocked() ? withBlockedLog(baseline) : baseline;
      Look grown = () -> Footprint.of(daemon.pid()).growthSince(given);
      tally.checked(Invariant.I7, where, await(grown, PATIENCE));
    }
    DiskUse used = diskUse;
    if (used != null) {
      Look grown = () -> DiskUse.of(home.path()).growthSince(used);
      tally.checked(Invariant.I10, where, await(grown, PATIENCE));
    }
  }

  /** Its stderr was a file when the baseline was taken; now a thread waits to write to a pipe. */
  private static Footprint withBlockedLog(Footprint baseline) {
    var counts = new HashMap<>(baseline.counts());
    counts.merge("pipe descriptor", 1, Integer::sum);
    counts.merge("thread ebb-log", 1, Integer::sum);
    return new Footprint(counts);
  }

  private List<Trace> leftOfBoxes(ServedHome daemon) throws IOException {
    daemon.reapSupervisors();
    var own = new HashSet<String>();
    List<Trace> seen = before.leaksSince();
    for (Path instance : Proc.list(home.path().resolve("instances"))) {
      Ledgers.forkserver(instance.resolve("ledger")).ifPresent(each -> own.add("process " + each));
    }
    Set<Integer> pids = daemon.pids();
    int port = daemon.port();
    return seen.stream()
        .filter(trace -> !own.contains(trace.identity()) && !isDaemons(trace, pids, port))
        .toList();
  }

  /** Resources that the daemon itself has while it serves. */
  private boolean isDaemons(Trace trace, Set<Integer> pids, int port) {
    return switch (trace.kind()) {
      case "process" ->
          pids.stream().anyMatch(pid -> trace.identity().startsWith("process " + pid + "@"));
      case "cgroup", "uid claim" -> isInstance(Path.of(trace.identity()));
      case "file", "directory" -> isInstanceFile(Path.of(trace.identity()));
      case "unix socket" ->
          SOCKETS.stream()
              .anyMatch(name -> trace.details().startsWith(home.path().resolve(name) + " "));
      case "ledger line" -> isInstanceLine(trace);
      case "port" -> trace.details().startsWith("port " + port + " ");
      default -> false;
    };
  }

  private boolean isInstance(Path cgroup) {
    return home.instances().stream()
        .anyMatch(
            instance ->
                cgroup.endsWith(instance)
                    || cgroup.endsWith(instance + "-self")
                    || cgroup.endsWith(Path.of(instance, Ledgers.FORKSERVER)));
  }

  private boolean isInstanceFile(Path path) {
    Path relative = home.path().relativize(path);
    boolean isSocket = SOCKETS.contains(relative.toString());
    Path instances = Path.of("instances");
    boolean isDirectory = instances.equals(relative.getParent());
    boolean isFile =
        relative.getNameCount() == 3
            && relative.startsWith(instances)
            && Set.of("lock", "ledger", "instance").contains(relative.getFileName() + "");
    return isSocket || isDirectory || isFile;
  }

  /** Details are the ledger, a colon, and the line. */
  private static boolean isInstanceLine(Trace trace) {
    String line = trace.details().substring(trace.details().indexOf(": ") + 2);
    return Ledgers.isInstances(line);
  }

  /** Checks that the log of the daemon reports no fault of the daemon itself. */
  void log(ServedHome daemon) throws IOException {
    List<Trace> alarms =
        daemon.alarms().stream().map(line -> new Trace(Invariant.I14, "log", line, line)).toList();
    tally.checked(Invariant.I14, "the daemon's log", alarms);
  }

  /** Judges when the daemon has ended. */
  void ended(int code, ServedHome daemon) throws IOException {
    String where = "after the end";
    if (code != 0) {
      tally.broken(Invariant.I13, "the daemon ended with " + code, where);
    }
    Look look =
        () -> {
          daemon.reapSupervisors();
          return before.leaksSince();
        };
    List<Trace> left = await(look, PATIENCE);
    for (Invariant each : OF_HOST) {
      tally.checked(each, where, of(each, left));
    }
  }
}
