package dev.ebb.testkit;

import dev.ebb.kernel.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * What this JVM and Ebb had on the host at one moment; what they have beyond that later is a leak.
 *
 * <p>Looks at the whole JVM, so tests that use it cannot run side by side in one.
 */
public final class Snapshot {
  /** How long the kernel and the JVM may take to finish what was ended: namespaces, threads. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final List<Detector> EVERYWHERE =
      List.of(
          Processes::look,
          Cgroups::look,
          Mounts::look,
          Descriptors::look,
          Threads::look,
          VirtualThreads::look,
          UnixSockets::look,
          SharedMemory::look);

  private final List<Detector> detectors;
  private final Set<String> known = new HashSet<>();

  private Snapshot(List<Detector> detectors) {
    this.detectors = detectors;
  }

  /** Looks at the host, at homes lent out by a {@link TestHost}, and at {@code homes}. */
  public static Snapshot take(Path... homes) {
    WarmUp.once();
    var detectors = new ArrayList<>(EVERYWHERE);
    detectors.add(new HomeFiles(List.of(homes)));
    var snapshot = new Snapshot(detectors);
    snapshot.accept(snapshot.look());
    return snapshot;
  }

  /** What is there now and was not before. */
  public List<Trace> leaksSince() {
    return look().stream()
        .filter(trace -> !trace.neighbours() && !known.contains(trace.identity()))
        .toList();
  }

  /** The same, once {@code patience} is over or there is nothing left, whichever is first. */
  public List<Trace> leaksSince(Duration patience) {
    Deadline deadline = Deadline.in(patience);
    List<Trace> leaks = leaksSince();
    while (!leaks.isEmpty() && !deadline.isOver()) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      leaks = leaksSince();
    }
    return leaks;
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
    traces.forEach(trace -> known.add(trace.identity()));
  }

  private List<Trace> look() {
    try {
      ProcessTable processes = ProcessTable.read();
      var traces = new ArrayList<Trace>();
      for (Detector detector : detectors) {
        traces.addAll(detector.look(processes));
      }
      return traces;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
