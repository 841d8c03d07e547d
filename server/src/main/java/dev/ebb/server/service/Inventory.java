package dev.ebb.server.service;

import dev.ebb.box.Box;
import dev.ebb.box.Footprint;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.model.Occupancy;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StallTimes;
import dev.ebb.process.Listeners;
import dev.ebb.process.ProcFs;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The resources that a box holds on the host now. */
public final class Inventory {
  private static final Logger LOG = System.getLogger(Inventory.class.getName());

  /** How long init may take to report the start of a command. */
  private static final Duration BIRTH_BOUND = Duration.ofSeconds(1);

  /** The most ports in an inventory; a box may listen on any number. */
  private static final int PORTS_MOST = 1000;

  /** The most descriptors in an inventory, over all processes of a box. */
  private static final long COMMAND_LINES_MOST = 1 << 20;

  private Inventory() {}

  /**
   * One thing that a box holds.
   *
   * @param detail further facts about it
   * @param process present if it is a process
   */
  public record Item(
      String kind, String subject, Optional<String> detail, Optional<Member> process) {}

  /**
   * A process of a box.
   *
   * @param exec the command that it belongs to, if any
   */
  public record Member(int pid, int parent, char state, OptionalInt exec) {}

  /** The total and current use of the commands of a box. */
  public record Usage(
      CgroupUsage used, Optional<Occupancy> occupancy, Optional<StallTimes> pressure) {}

  public static List<Item> of(BoxRegistry boxes, TenantBox served) {
    var all = new ArrayList<Item>();
    for (Holding holding : boxes.holdings(served)) {
      if (holding.kind() != Kind.PROCESS) {
        all.add(item(holding.kind().wireName(), holding.subject()));
      }
    }
    if (served.state().isAlive()) {
      Box box = served.box();
      all.addAll(processes(served));
      box.footprint().descriptors().forEach(name -> all.add(item("descriptor", name)));
      all.addAll(mountsAndPorts(box));
    }
    if (served.order().detached() && !served.isPast()) {
      // Where its init listens for the next daemon.
      served
          .box()
          .footprint()
          .controlSocket()
          .ifPresent(path -> all.add(item(Kind.SOCKET.wireName(), path.toString())));
    }
    return all;
  }

  /** Returns the processes that stay alive during the inventory, each with its command. */
  private static List<Item> processes(TenantBox served) {
    served.execs().forEach(Inventory::awaitBirth);
    List<Integer> pids = served.box().footprint().pids();
    // ORDER: after all processes were listed, otherwise a new one would belong to no command.
    var execs = new HashMap<Integer, Integer>();
    for (TenantExec exec : served.execs()) {
      if (mayHaveProcesses(exec)) {
        exec.exec().pids().forEach(pid -> execs.put(pid, exec.number()));
      }
    }
    var all = new ArrayList<Item>();
    long left = COMMAND_LINES_MOST;
    for (int pid : pids) {
      Optional<ProcFs.Stat> stat = ProcFs.stat(pid);
      if (stat.isPresent()) {
        String line = left > 0 ? ProcFs.commandLine(pid) : "…";
        left -= line.length();
        all.add(process(stat.get(), line, execs.get(pid)));
      }
    }
    // KERNEL: no cgroup lists zombies; the children of their parents do.
    for (int pid : pids) {
      for (ProcFs.Stat dead : ProcFs.zombies(pid)) {
        all.add(process(dead, "", execs.get(pid)));
      }
    }
    return all;
  }

  /** A command whose start init has not reported yet has a process soon. */
  private static void awaitBirth(TenantExec exec) {
    try {
      if (exec.isRunning() && !exec.exec().awaitStart(BIRTH_BOUND)) {
        LOG.log(Level.DEBUG, "event=start_not_heard exec={0}, ignoring", exec.number());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the mounts by their path in the box, and the ports; fewer if it ends meanwhile. */
  private static List<Item> mountsAndPorts(Box box) {
    var all = new ArrayList<Item>();
    try {
      mounts(box.footprint().initPid()).forEach(point -> all.add(item("mount", point)));
      all.addAll(ports(box));
    } catch (KernelException e) {
      requireEnded(box, SandboxException.internal(e));
    } catch (SandboxException e) {
      requireEnded(box, e);
    }
    return all;
  }

  /** Returns all sockets in a network of its own, in that of the host those of its processes. */
  private static List<Item> ports(Box box) throws KernelException {
    boolean isOwn = box.spec().network().isOwn();
    Set<Long> sockets = isOwn ? Set.of() : Listeners.sockets(box.footprint().pids());
    var found =
        Listeners.of(
            box.footprint().initPid(), inode -> isOwn || sockets.contains(inode), PORTS_MOST + 1);
    var all = new ArrayList<Item>();
    for (Listeners.Listener each : found.subList(0, Math.min(found.size(), PORTS_MOST))) {
      Optional<String> detail = Optional.of("inode " + each.inode());
      all.add(new Item("port", each.toString(), detail, Optional.empty()));
    }
    if (found.size() > PORTS_MOST) {
      all.add(item("port", "more than " + PORTS_MOST + " are not listed"));
    }
    return all;
  }

  /** Returns whether it runs, or has ended and left processes alive. */
  private static boolean mayHaveProcesses(TenantExec exec) {
    return switch (exec.ending().orElse(null)) {
      case null -> true;
      case TenantExec.Ending.Result(var result, _) -> !result.leftovers().kept().isEmpty();
      case TenantExec.Ending.Refused _ -> false;
    };
  }

  private static Item process(ProcFs.Stat stat, String commandLine, @Nullable Integer exec) {
    OptionalInt number = exec == null ? OptionalInt.empty() : OptionalInt.of(exec);
    return new Item(
        "process",
        Integer.toString(stat.pid()),
        Optional.of(commandLine),
        Optional.of(new Member(stat.pid(), stat.parent(), stat.state(), number)));
  }

  private static Item item(String kind, String subject) {
    return new Item(kind, subject, Optional.empty(), Optional.empty());
  }

  /** Returns the mounts that a process sees; none if it has ended. */
  static List<String> mounts(int pid) throws KernelException {
    try {
      return Filesystem.read(Path.of("/proc/" + pid + "/mountinfo"))
          .lines()
          .map(line -> line.split(" ")[4])
          .toList();
    } catch (KernelException e) {
      // KERNEL: a dying process has no mounts any more, which is EINVAL, before it has no file.
      if (e.is(Errno.EINVAL) || e.is(Errno.ENOENT) || e.is(Errno.ESRCH)) {
        return List.of();
      }
      throw e;
    }
  }

  /** RACE: nothing can be read from a box that ends meanwhile, and nothing need be. */
  private static void requireEnded(Box box, SandboxException e) {
    if (box.state().isAlive()) {
      throw e;
    }
  }

  /** Returns the total and current use of its commands, where the kernel counts it. */
  public static Optional<Usage> usage(TenantBox served) {
    if (!served.state().isAlive()) {
      return Optional.empty();
    }
    Box box = served.box();
    try {
      Footprint footprint = box.footprint();
      var used = footprint.usage();
      var now = footprint.occupancy();
      var pressure = footprint.pressure();
      return used.map(known -> new Usage(known, now, pressure));
    } catch (KernelException e) {
      requireEnded(box, SandboxException.internal(e));
      return Optional.empty();
    }
  }
}
