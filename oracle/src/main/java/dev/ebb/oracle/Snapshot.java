package dev.ebb.oracle;

import dev.ebb.kernel.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What some detectors saw at one moment; what they see beyond that later is a leak. */
public final class Snapshot {
  private static final Duration LOOK_AGAIN = Duration.ofMillis(5);

  /** The least number of looks, however slow the host is. */
  private static final int LEAST_LOOKS = 3;

  private final List<Detector> detectors;

  private final Set<String> known = ConcurrentHashMap.newKeySet();

  private Snapshot(List<Detector> detectors) {
    this.detectors = List.copyOf(detectors);
  }

  public static Snapshot take(List<Detector> detectors) {
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

  /** What is left once {@code patience} is over; returns as soon as nothing is left. */
  public List<Trace> leaksSince(Duration patience) {
    Deadline deadline = Deadline.in(patience);
    List<Trace> leaks = leaksSince();
    for (int looks = 1; !leaks.isEmpty() && (looks < LEAST_LOOKS || !deadline.isOver()); looks++) {
      Deadline.never().pause(LOOK_AGAIN);
      leaks = leaksSince();
    }
    return leaks;
  }

  /** From now on, these were there before. */
  public void accept(Collection<Trace> traces) {
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
