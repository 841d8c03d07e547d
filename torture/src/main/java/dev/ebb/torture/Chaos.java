package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Holding;
import dev.ebb.kernel.Deadline;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.torture.host.Host;
import dev.ebb.torture.host.ServedHome;
import dev.ebb.torture.host.Target;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * Kills processes that hold a box together, at random moments, and brings other faults upon the
 * daemon; only ever what descends from us.
 */
final class Chaos {
  /** How long to wait for a process that makes a box. */
  private static final Duration AMBUSH = Duration.ofMillis(400);

  private static final Duration LOOK_AGAIN = Duration.ofNanos(200_000);

  private final ServedHome daemon;
  private final Tally tally;
  private final Plan plan;
  private final Faults faults;
  private final Host host;
  private final Set<String> killed = ConcurrentHashMap.newKeySet();
  private int next;

  Chaos(ServedHome daemon, Tally tally, Plan plan, Faults faults, Host host) {
    this.faults = faults;
    this.host = host;
    this.daemon = daemon;
    this.tally = tally;
    this.plan = plan;
  }

  /** Its init was killed, so it may be lost. */
  boolean hasKilled(String box) {
    return killed.contains(box);
  }

  /** Strikes until it is over. */
  void run(BooleanSupplier isOver) throws IOException {
    while (!isOver.getAsBoolean()) {
      Stroke stroke = plan.stroke(next);
      String where = "stroke %d, %s".formatted(next++, stroke.target().wireName());
      Deadline.never().pause(stroke.after());
      if (!isOver.getAsBoolean()) {
        strike(stroke, where);
      }
    }
  }

  private void strike(Stroke stroke, String where) throws IOException {
    boolean done =
        switch (stroke.target()) {
          case INIT -> killInit(stroke.choice());
          case WRAPPER -> ambush(Chaos::isWrapper, stroke.choice());
          case FORKSERVER -> ambush(Chaos::isForkserver, stroke.choice());
          case DAEMON -> killDaemon();
          case STOPPED_DAEMON -> bring(() -> faults.stopDaemon(stroke.choice(), where));
          case BLOCKED_LOG -> bring(() -> faults.blockLog(where));
          case SILENT_CONNECTIONS -> bring(() -> faults.silence(stroke.choice(), where));
          case HOSTILE_DESCRIPTORS -> bring(() -> faults.sendDescriptors(where));
          case GIANT_VALUES -> bring(() -> faults.giants(stroke.choice(), where));
          case FLAPPING_DISK -> flapDisk(stroke.choice(), where);
        };
    tally.count(Tally.Group.KILL, stroke.target().wireName() + (done ? "" : ", no target"));
  }

  private boolean killDaemon() throws IOException {
    daemon.restart(tally::daemonKilled);
    return true;
  }

  private interface Fault {
    void bring() throws IOException;
  }

  /** A daemon that refuses what a fault needs is none that fails; whether it came to the fault. */
  private boolean bring(Fault fault) throws IOException {
    try {
      fault.bring();
      return true;
    } catch (EbbException e) {
      tally.count(Tally.Group.REFUSAL, e.code());
      return false;
    }
  }

  private boolean flapDisk(int choice, String where) throws IOException {
    if (!FlappingDisk.isPossible()) {
      tally.skip("flapping disk: needs root, unshare and nsenter");
      return false;
    }
    return bring(() -> new FlappingDisk(host, tally, choice, where).run());
  }

  private boolean killInit(int choice) {
    try {
      EbbClient client = daemon.client();
      List<Box> boxes = client.boxes().list(BoxQuery.all());
      if (boxes.isEmpty()) {
        return false;
      }
      Box box = client.boxes().inspect(boxes.get(choice % boxes.size()).id());
      for (Holding holding : box.holdings()) {
        Long pid = holding.pid();
        if (holding.kind().equals("process") && pid != null && isInit(pid.intValue())) {
          // ORDER: known before it happens.
          killed.add(box.id());
          return kill(pid.intValue());
        }
      }
    } catch (IOException e) {
      // It is gone already.
      return false;
    }
    return false;
  }

  /** It is pid 1 of a pid namespace below ours. */
  private static boolean isInit(int pid) throws IOException {
    var status = Proc.lines(Proc.ROOT.resolve(Integer.toString(pid)).resolve("status"));
    return Proc.field(status, "NSpid").filter(pids -> pids.matches(".*\\s1")).isPresent();
  }

  private static boolean kill(int pid) throws IOException {
    var process = Target.find(ProcessTable.read(), pid);
    return process.isPresent() && Target.of(process.get()).kill();
  }

  /** Kills one of those, as soon as there is one. */
  private static boolean ambush(Predicate<ProcessEntry> prey, int choice) throws IOException {
    Deadline deadline = Deadline.in(AMBUSH);
    do {
      ProcessTable processes = ProcessTable.read();
      List<ProcessEntry> caught =
          processes.entries().stream()
              .filter(each -> processes.isBelowUs(each) && prey.test(each))
              .toList();
      if (!caught.isEmpty()) {
        return Target.of(caught.get(choice % caught.size())).kill();
      }
    } while (deadline.pause(LOOK_AGAIN));
    return false;
  }

  private static boolean isForkserver(ProcessEntry process) {
    return process.command().equals("ebb-forkserver");
  }

  private static boolean isWrapper(ProcessEntry process) {
    try {
      return process.command().equals("bwrap")
          || (process.command().startsWith("ebb-init")
              && process.describe().contains(": ebb-init outside "));
    } catch (IOException e) {
      return false;
    }
  }
}
