package dev.ebb.kernel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds what does not move in this process: a poller that is held up by one handler, a lock that is
 * held for long while others wait, locks whose holders wait for each other, virtual threads that
 * are not scheduled, and bounded work that goes on.
 *
 * <p>It counts its own looks, not time: while the process is stopped or starved nothing is counted.
 * For one thread, which must be a platform thread, looking at a steady pace.
 */
public final class StallDetector {
  private static final int WAITERS_MOST = 8;

  /** A watched activity, and its last observation. */
  private record Seen(long mark, int looks) {}

  /** The heartbeat of the virtual threads. */
  private static final Object SCHEDULER = new Object();

  private Map<Object, Seen> seen = new HashMap<>();
  private volatile long beat;
  private long beatsWanted;

  public StallDetector() {}

  /** One thread and where it is. */
  public record Trace(String thread, List<String> frames) {
    public Trace {
      frames = List.copyOf(frames);
    }

    static Trace of(Thread thread, String role) {
      String name = thread.getName().isEmpty() ? "#" + thread.threadId() : thread.getName();
      return new Trace(
          name + role, Arrays.stream(thread.getStackTrace()).map(Object::toString).toList());
    }
  }

  /**
   * Something that has not moved.
   *
   * @param looks how many looks in a row it was seen like that
   * @param isDeadlock it will never move
   * @param isLocal everything else in the process goes on
   */
  public record Stall(
      String what, int looks, boolean isDeadlock, boolean isLocal, List<Trace> traces) {
    public Stall {
      traces = List.copyOf(traces);
    }

    public Stall(String what, int looks, boolean isDeadlock, List<Trace> traces) {
      this(what, looks, isDeadlock, false, traces);
    }
  }

  /** Looks once; returned is what has not moved for at least {@code least} looks. */
  public List<Stall> look(int least) {
    var now = new HashMap<Object, Seen>();
    var stalls = new ArrayList<Stall>();
    lookAtPollers(now, stalls, least);
    lookAtLocks(now, stalls, least);
    lookAtScheduler(now, stalls, least);
    lookAtWork(now, stalls);
    seen = now;
    return stalls;
  }

  private int looks(Map<Object, Seen> now, Object subject, long mark) {
    Seen before = seen.get(subject);
    int looks = before != null && before.mark == mark ? before.looks + 1 : 0;
    now.put(subject, new Seen(mark, looks));
    return looks;
  }

  private void lookAtPollers(Map<Object, Seen> now, List<Stall> stalls, int least) {
    for (Poller poller : Poller.running()) {
      long turns = poller.turns();
      if (!poller.isWaiting()) {
        int looks = looks(now, poller, turns);
        if (looks >= least) {
          Thread thread = poller.thread();
          stalls.add(
              new Stall(
                  "thread " + thread.getName() + " does not turn",
                  looks,
                  !thread.isAlive(),
                  List.of(Trace.of(thread, ""))));
        }
      }
    }
  }

  private void lookAtLocks(Map<Object, Seen> now, List<Stall> stalls, int least) {
    for (OrderedLock lock : LockWaits.contended()) {
      boolean isInCycle = LockWaits.isInCycle(lock);
      if (isInCycle || lock.place().isBrief()) {
        int looks = looks(now, lock, lock.taken());
        // RACE: a cycle was read piece by piece while its threads ran; only a cycle that is seen
        // again is real.
        boolean isDeadlock = isInCycle && looks > 0;
        if (looks >= least || isDeadlock) {
          String what =
              "lock " + lock.place() + (isDeadlock ? " is deadlocked" : " is not given back");
          stalls.add(new Stall(what, looks, isDeadlock, traces(lock)));
        }
      }
    }
  }

  private static List<Trace> traces(OrderedLock lock) {
    var traces = new ArrayList<Trace>();
    Thread holder = lock.holder();
    if (holder != null) {
      traces.add(Trace.of(holder, " holds " + lock.place()));
    }
    LockWaits.waitersFor(lock).stream()
        .limit(WAITERS_MOST)
        .forEach(thread -> traces.add(Trace.of(thread, " waits for " + lock.place())));
    return traces;
  }

  private void lookAtScheduler(Map<Object, Seen> now, List<Stall> stalls, int least) {
    long reached = beat;
    if (reached < beatsWanted) {
      int looks = looks(now, SCHEDULER, reached);
      if (looks >= least) {
        stalls.add(new Stall("virtual threads do not run", looks, false, List.of()));
      }
      return;
    }
    long next = ++beatsWanted;
    Thread.ofVirtual().name("ebb-heartbeat").start(() -> beat = next);
  }

  private void lookAtWork(Map<Object, Seen> now, List<Stall> stalls) {
    for (BoundedWork work : BoundedWork.running()) {
      int looks = looks(now, work, 0);
      if (looks >= work.looks()) {
        stalls.add(
            new Stall(
                work.what() + " does not end",
                looks,
                false,
                true,
                List.of(Trace.of(work.thread(), ""))));
      }
    }
  }
}
