package dev.ebb.torture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** How long it took until all of a box was gone, by its number of processes. */
final class TimesToGone {
  /** Up to how many processes. */
  private enum Size {
    ONE("1", 1),
    TEN("2-10", 10),
    HUNDRED("11-100", 100),
    MORE(">100", Integer.MAX_VALUE);

    private final String words;
    private final int most;

    Size(String words, int most) {
      this.words = words;
      this.most = most;
    }

    static Size of(int processes) {
      int i = 0;
      while (processes > values()[i].most) {
        i++;
      }
      return values()[i];
    }
  }

  /** One box. */
  record Time(int processes, Duration time) {}

  /** All boxes of a size; durations are zero where there is none. */
  record Row(String processes, int count, Duration p50, Duration p99, Duration most) {}

  private final List<Time> times = new ArrayList<>();

  void add(int processes, Duration time) {
    times.add(new Time(processes, time));
  }

  List<Time> all() {
    return List.copyOf(times);
  }

  List<Row> rows() {
    var rows = new ArrayList<Row>();
    for (Size size : Size.values()) {
      var sorted = new ArrayList<Duration>();
      times.stream()
          .filter(each -> Size.of(each.processes()) == size)
          .forEach(each -> sorted.add(each.time()));
      Collections.sort(sorted);
      rows.add(
          new Row(
              size.words,
              sorted.size(),
              quantile(sorted, 0.50),
              quantile(sorted, 0.99),
              quantile(sorted, 1)));
    }
    return rows;
  }

  /** The smallest that at least {@code share} of all do not exceed. */
  static Duration quantile(List<Duration> sorted, double share) {
    if (sorted.isEmpty()) {
      return Duration.ZERO;
    }
    int rank = (int) Math.ceil(share * sorted.size());
    return sorted.get(Math.max(rank, 1) - 1);
  }
}
