package dev.ebb.testkit;

import dev.ebb.oracle.Cgroups;
import dev.ebb.oracle.ClaimedUids;
import dev.ebb.oracle.Descriptors;
import dev.ebb.oracle.HomeFiles;
import dev.ebb.oracle.LivingNeighbours;
import dev.ebb.oracle.Mounts;
import dev.ebb.oracle.Neighbours;
import dev.ebb.oracle.Processes;
import dev.ebb.oracle.SharedMemory;
import dev.ebb.oracle.Threads;
import dev.ebb.oracle.Trace;
import dev.ebb.oracle.UnixSockets;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What this JVM and Ebb had on the host at one moment; what they have beyond that later is a leak.
 *
 * <p>Looks at the whole JVM, so tests that use it cannot run side by side in one.
 */
public final class Snapshot {
  /** How long the kernel and the JVM may take to finish what was ended: namespaces, threads. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final Neighbours NEIGHBOURS =
      new LivingNeighbours() {
        @Override
        protected boolean ownInstance(String id) throws IOException {
          return TestHost.isNeighboursInstance(id);
        }
      };

  private final dev.ebb.oracle.Snapshot before;

  private Snapshot(dev.ebb.oracle.Snapshot before) {
    this.before = before;
  }

  /** Looks at the host, at homes lent out by a {@link TestHost}, and at {@code homes}. */
  public static Snapshot take(Path... homes) {
    WarmUp.once();
    return new Snapshot(
        dev.ebb.oracle.Snapshot.take(
            List.of(
                new Processes(NEIGHBOURS),
                new Cgroups(NEIGHBOURS),
                new Mounts(NEIGHBOURS),
                Descriptors.ofThisProcess(),
                Threads.ofThisProcess(),
                VirtualThreads::look,
                new UnixSockets(NEIGHBOURS),
                new ClaimedUids(NEIGHBOURS),
                new SharedMemory(NEIGHBOURS),
                new HomeFiles(() -> homes(homes)))));
  }

  private static Set<Path> homes(Path... more) {
    var homes = new HashSet<>(TestHost.homes());
    homes.addAll(List.of(more));
    return homes;
  }

  /** What is there now and was not before. */
  public List<Trace> leaksSince() {
    return before.leaksSince();
  }

  /** What is left once {@code patience} is over; returns as soon as nothing is left. */
  public List<Trace> leaksSince(Duration patience) {
    return before.leaksSince(patience);
  }

  /** Waits a little for what ends by itself, and fails with a line for each leak. */
  public void assertNoLeaks() {
    failOn(leaksSince(PATIENCE));
  }

  static void failOn(List<Trace> leaks) {
    if (!leaks.isEmpty()) {
      throw new AssertionError(
          leaks.stream()
              .map(Trace::toString)
              .collect(Collectors.joining("\n  ", "leaked\n  ", "")));
    }
  }

  /** From now on, these were there before. */
  void accept(Collection<Trace> traces) {
    before.accept(traces);
  }
}
