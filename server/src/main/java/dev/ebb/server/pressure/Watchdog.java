package dev.ebb.server.pressure;

import dev.ebb.kernel.StallDetector;
import dev.ebb.kernel.StallDetector.Stall;
import dev.ebb.kernel.StallDetector.Trace;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Checks once a second that the daemon makes progress. A part that stands still for some seconds is
 * logged with its stacks and fails the health check; if it stays so and holds up others, the
 * process is ended with a dump of its threads. The effect is that of a killed daemon: attached
 * boxes die with it, and the next daemon adopts the detached ones. Thread-safe; owns one platform
 * thread.
 */
public final class Watchdog implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Watchdog.class.getName());
  private static final long ROUND_MILLIS = 1000;

  /** A deadlock does not resolve itself. */
  private static final int DEADLOCK_ENDS_AFTER = 5;

  private static final int FRAMES_MOST = 48;

  private final Patience patience;
  private final Runnable end;
  private final StallDetector detector = new StallDetector();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;
  private volatile List<Stall> stalls = List.of();
  private volatile boolean isGoingDown;

  /**
   * How many checks in a row something may stand still.
   *
   * @param healthy until the health check fails
   * @param alive until the process is ended
   */
  public record Patience(int healthy, int alive) {
    private static final Patience DEFAULT = new Patience(10, 60);

    /**
     * Parses the system property {@code ebb.watchdog}, for tests only: both numbers, as in "2,5".
     */
    static Patience of(String text) {
      if (text.isEmpty()) {
        return DEFAULT;
      }
      String[] words = text.split(",", -1);
      return new Patience(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
    }
  }

  /** Starts a watchdog; {@code end} ends the process. */
  public static Watchdog start(Runnable end) {
    return start(Patience.of(System.getProperty("ebb.watchdog", "")), end);
  }

  static Watchdog start(Patience patience, Runnable end) {
    var watchdog = new Watchdog(patience, end);
    watchdog.thread.start();
    return watchdog;
  }

  private Watchdog(Patience patience, Runnable end) {
    this.patience = patience;
    this.end = end;
    thread = Thread.ofPlatform().name("ebb-watchdog").daemon().unstarted(this::watch);
  }

  /**
   * A part of the daemon that stands still.
   *
   * @param isDeadlock whether it can never move again
   */
  public record Standstill(String what, int seconds, boolean isDeadlock, List<Stack> stacks) {
    private static Standstill of(Stall stall) {
      var stacks =
          stall.traces().stream().map(each -> new Stack(each.thread(), each.frames())).toList();
      return new Standstill(stall.what(), stall.looks(), stall.isDeadlock(), stacks);
    }
  }

  /** One thread and its stack. */
  public record Stack(String thread, List<String> frames) {}

  /** Returns what stands still now, for so long that the daemon is not healthy. */
  public List<Standstill> stalls() {
    return stalls.stream().map(Standstill::of).toList();
  }

  /** Called when the daemon begins to stop: nothing that stands still is awaited any longer. */
  public void goDown() {
    isGoingDown = true;
  }

  private void watch() {
    try {
      while (!closing.await(ROUND_MILLIS, TimeUnit.MILLISECONDS)) {
        look();
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=watchdog_ends");
    }
  }

  private void look() {
    List<Stall> now = detector.look(patience.healthy());
    boolean isNews = !describe(now).equals(describe(stalls));
    stalls = List.copyOf(now);
    if (isNews && now.isEmpty()) {
      LOG.log(Level.WARNING, "event=moves_again");
    } else if (isNews) {
      LOG.log(Level.ERROR, "event=stalled{0}", text(now));
    }
    if (now.stream().anyMatch(this::isTheEnd)) {
      LOG.log(Level.ERROR, "event=stalled_daemon_ends{0}{1}", text(now), threads());
      end.run();
    }
  }

  /** Returns whether the process must end because of this stall. */
  boolean isTheEnd(Stall stall) {
    int most =
        isGoingDown
            ? patience.healthy()
            : stall.isDeadlock()
                ? Math.min(DEADLOCK_ENDS_AFTER, patience.alive())
                : patience.alive();
    return !stall.isLocal() && stall.looks() >= most;
  }

  private static List<String> describe(List<Stall> stalls) {
    return stalls.stream().map(Stall::what).sorted().toList();
  }

  private static String text(List<Stall> stalls) {
    var text = new StringBuilder();
    for (Stall stall : stalls) {
      text.append(" what=\"%s\" seconds=%d".formatted(stall.what(), stall.looks()));
      stall.traces().forEach(trace -> append(text, trace));
    }
    return text.toString();
  }

  private static void append(StringBuilder text, Trace trace) {
    text.append("\n\"").append(trace.thread()).append('"');
    trace.frames().stream()
        .limit(FRAMES_MOST)
        .forEach(frame -> text.append("\n\tat ").append(frame));
  }

  /**
   * Dumps every platform thread; the virtual threads that matter are listed with what stands still.
   */
  private static String threads() {
    var text = new StringBuilder("\nall platform threads:");
    Thread.getAllStackTraces()
        .forEach(
            (each, frames) ->
                append(
                    text,
                    new Trace(
                        each.getName(), Arrays.stream(frames).map(Object::toString).toList())));
    return text.toString();
  }

  @Override
  public void close() {
    closing.countDown();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
