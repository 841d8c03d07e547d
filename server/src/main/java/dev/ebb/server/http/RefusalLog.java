package dev.ebb.server.http;

import dev.ebb.kernel.ProcessClock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Logs refusals: one line for each kind in ten seconds. Refusals of a kind that was just logged are
 * counted, and the count is on the next line of that kind, or on a line of its own when another
 * kind is logged later, or at the end. So a flood of refusals does not flood the log. Thread-safe.
 */
final class RefusalLog {
  private static final long WINDOW = Duration.ofSeconds(10).toNanos();

  /** How many kinds are told apart at a time. */
  private static final int KINDS = 200;

  private final Map<String, Seen> kinds = new ConcurrentHashMap<>();
  private final String others;
  private final Consumer<String> log;

  /**
   * A kind of refusal.
   *
   * @param since when it was logged last
   * @param repeated how many came since then
   * @param before how many had come before that line
   */
  private record Seen(long since, long repeated, long before) {}

  /**
   * Makes a log.
   *
   * @param others the kind of all refusals beyond those that are told apart
   */
  RefusalLog(String others, Consumer<String> log) {
    this.others = others;
    this.log = log;
  }

  void add(String kind) {
    add(kind, ProcessClock.nanos());
  }

  /** Logs or counts a refusal at a time of the process. */
  void add(String kind, long now) {
    String known = kinds.size() < KINDS || kinds.containsKey(kind) ? kind : others;
    Seen seen = kinds.compute(known, (_, last) -> next(last, now));
    if (seen.repeated == 0) {
      tell(known, seen.before);
      forgetBefore(now - WINDOW);
    }
  }

  private static Seen next(@Nullable Seen last, long now) {
    if (last == null) {
      return new Seen(now, 0, 0);
    }
    return now - last.since < WINDOW
        ? new Seen(last.since, last.repeated + 1, last.before)
        : new Seen(now, 0, last.repeated);
  }

  /** Logs the counts that are left. */
  void close() {
    forgetBefore(Long.MAX_VALUE);
  }

  private void forgetBefore(long time) {
    kinds.forEach(
        (kind, seen) -> {
          if (seen.since < time && kinds.remove(kind, seen) && seen.repeated > 0) {
            tell(kind, seen.repeated);
          }
        });
  }

  private void tell(String kind, long repeated) {
    log.accept(repeated == 0 ? kind : kind + " repeated=" + repeated);
  }
}
