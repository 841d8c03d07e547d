package dev.ebb.torture;

import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Self;
import dev.ebb.oracle.Cgroups;
import dev.ebb.oracle.ClaimedUids;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.Processes;
import dev.ebb.oracle.Snapshot;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.Host;
import dev.ebb.torture.host.ServedHome;
import dev.ebb.torture.host.SmallDisk;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A separate daemon with its home on a small file system that fills and empties. Its reports about
 * the output of commands must be true meanwhile, and it must serve again when there is room.
 */
final class FlappingDisk {
  private static final Logger LOG = System.getLogger(FlappingDisk.class.getName());
  private static final int COMMANDS = 20;
  private static final List<Integer> SIZES = List.of(10, 1000, 30_000, 700_000);
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int BLOCK = 1 << 16;

  private final Host host;
  private final Tally tally;
  private final String where;
  private final SplittableRandom random;

  FlappingDisk(Host host, Tally tally, int choice, String where) {
    this.host = host;
    this.tally = tally;
    this.where = where;
    random = new SplittableRandom(choice);
  }

  static boolean isPossible() {
    return Self.uid() == 0 && SmallDisk.isPossible();
  }

  void run() throws IOException {
    try (SmallDisk disk = SmallDisk.mount(host)) {
      var home = new OneHome(disk.host().home());
      Snapshot before =
          Snapshot.take(List.of(new Processes(home), new Cgroups(home), new ClaimedUids(home)));
      try (var daemon = new ServedHome(disk.host(), home, disk.prefix())) {
        daemon.start();
        work(daemon, disk.host().home());
        int code = daemon.stop();
        if (code != 0) {
          tally.broken(Invariant.I13, "the daemon on the small disk ended with " + code, where);
        }
        judge(daemon, home, before);
      }
    }
  }

  private void work(ServedHome daemon, Path home) throws IOException {
    EbbClient client = daemon.client();
    String box = client.boxes().create(Truth.SMALL).id();
    var over = new AtomicBoolean();
    Path ballast = home.resolve("ballast");
    SplittableRandom moments = random.split();
    Thread flapping =
        Thread.ofPlatform().name("torture-disk").start(() -> flap(ballast, moments, over));
    try {
      for (int i = 0; i < COMMANDS; i++) {
        write(client, box, SIZES.get(random.nextInt(SIZES.size())));
      }
    } finally {
      over.set(true);
      join(flapping);
      Files.deleteIfExists(ballast);
    }
    requireService(client, box);
    client.boxes().remove(box, true);
  }

  private static ExecRequest writing(int bytes) {
    return ExecRequest.of("sh", "-c", "head -c " + bytes + " /dev/zero | tr '\\0' x")
        .withTimeout(PATIENCE);
  }

  /** A refusal counts as an answer, and so does output that is reported as lost. */
  private void write(EbbClient client, String box, int bytes) throws IOException {
    try {
      Result result = client.execs(box).run(writing(bytes));
      tally.checked(Invariant.I14, where, Truth.output(result, bytes));
      tally.count(Tally.Group.CAUSE, String.valueOf(result.exec().status()));
    } catch (EbbException e) {
      tally.count(Tally.Group.REFUSAL, e.code());
    }
  }

  /** With room again it works again. */
  private void requireService(EbbClient client, String box) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    int bytes = SIZES.getLast();
    while (true) {
      List<Trace> wrong;
      try {
        Result result = client.execs(box).run(writing(bytes));
        wrong = Truth.output(result, bytes);
      } catch (EbbException e) {
        String what = "the disk is empty again, and a command is refused: " + e.getMessage();
        wrong = List.of(new Trace(Invariant.I14, "untrue", what, what));
      }
      if (wrong.isEmpty() || deadline.isOver()) {
        tally.checked(Invariant.I14, where, wrong);
        return;
      }
    }
  }

  private void judge(ServedHome daemon, OneHome home, Snapshot before) throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    List<Trace> left = left(home, before);
    while (!left.isEmpty() && !deadline.isOver()) {
      daemon.reapSupervisors();
      left = left(home, before);
    }
    for (Invariant each :
        List.of(Invariant.I1, Invariant.I2, Invariant.I3, Invariant.I4, Invariant.I8)) {
      tally.checked(each, where, left.stream().filter(one -> one.invariant() == each).toList());
    }
  }

  /** The other daemon works meanwhile; this does not check its resources. */
  private static List<Trace> left(OneHome home, Snapshot before) throws IOException {
    return before.leaksSince().stream()
        .filter(trace -> home.instances().stream().anyMatch(trace.toString()::contains))
        .toList();
  }

  private static void flap(Path ballast, SplittableRandom moments, AtomicBoolean over) {
    while (!over.get()) {
      try (OutputStream out =
          Files.newOutputStream(
              ballast, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)) {
        park(moments.nextInt(200));
        fill(out);
        park(moments.nextInt(300));
      } catch (IOException e) {
        // RACE: there may be no room for the file itself.
        park(1);
      }
    }
  }

  /** Until there is no room, which is where it ends. */
  private static void fill(OutputStream out) {
    byte[] block = new byte[BLOCK];
    try {
      while (true) {
        out.write(block);
      }
    } catch (IOException e) {
      // KERNEL: ENOSPC, and nothing else is expected of a tmpfs.
      LOG.log(Level.TRACE, "event=disk_full", e);
    }
  }

  private static void park(int millis) {
    Deadline.never().pause(Duration.ofMillis(millis));
  }

  private static void join(Thread thread) throws IOException {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
