package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.EPOLL_CREATE1;
import static dev.ebb.kernel.SystemCall.EPOLL_CTL;
import static dev.ebb.kernel.SystemCall.EPOLL_PWAIT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One named thread that waits for every descriptor of a runtime and runs the handler of each that
 * is ready. Handlers must not block.
 */
public final class Poller implements Owned {
  /** What to wait for; hang-up and error always wake. */
  public enum Interest {
    READ(0x1),
    /** Exceptional condition: how kernfs files such as cgroup.events announce a change. */
    PRIORITY(0x2),
    WRITE(0x4);

    private final int bit;

    Interest(int bit) {
      this.bit = bit;
    }
  }

  private static final Logger LOG = System.getLogger(Poller.class.getName());
  private static final int EPOLL_CTL_ADD = 1;
  private static final int EPOLL_CTL_DEL = 2;
  private static final int EPOLL_CTL_MOD = 3;
  private static final int EPOLLONESHOT = 1 << 30;
  private static final int MAX_EVENTS = 64;

  /** KERNEL: struct epoll_event is packed on x86_64 only. */
  private static final int EVENT_DATA = System.getProperty("os.arch").equals("aarch64") ? 8 : 4;

  private static final int EVENT_SIZE = EVENT_DATA + 8;
  private static final long WAKE = 0;

  /** Batches in which each of many thousand ready descriptors gets its turn. */
  private static final int CATCH_UP_TURNS = 256;

  /** All that run, for {@link StallDetector}. */
  private static final Set<Poller> RUNNING = ConcurrentHashMap.newKeySet();

  private final Fd epoll;
  private final Fd wake;
  private final Thread thread;
  private final Tick tick;
  private final AtomicLong tokens = new AtomicLong(WAKE);
  private final Map<Long, Watch> watches = new ConcurrentHashMap<>();
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final Queue<CatchUp> arrears = new ConcurrentLinkedQueue<>();
  private volatile boolean closed;

  /** A wait until all that was ready is handled; only the poller's thread counts its turns. */
  private static final class CatchUp {
    private final CompletableFuture<Boolean> done = new CompletableFuture<>();
    private int turns;
  }

  /** Counts what it ran. Written by its own thread only. */
  private volatile long turns;

  /** It waits for events, or is about to. Written by its own thread only. */
  private volatile boolean isWaiting;

  /** Something to do every now and then. */
  private record Tick(long periodNanos, Runnable task) {
    private static final Tick NEVER = new Tick(Long.MAX_VALUE / 4, () -> {});
  }

  private Poller(Scope scope, String name, Tick tick) throws KernelException {
    this.tick = tick;
    try (var frame = new Frame()) {
      long fd = Frame.check(frame.call(EPOLL_CREATE1, Fd.O_CLOEXEC), "create epoll");
      epoll = Fd.adopt(scope, (int) fd, "epoll");
    }
    wake = Fd.event(scope);
    control(EPOLL_CTL_ADD, wake, Interest.READ.bit, WAKE);
    thread = Thread.ofPlatform().name(name).daemon().unstarted(this::loop);
  }

  public static Poller start(Scope scope, String name) throws KernelException {
    return start(scope, name, Tick.NEVER);
  }

  /** Runs {@code task} on the poller's thread as well, {@code period} after it ran last. */
  public static Poller start(Scope scope, String name, Duration period, Runnable task)
      throws KernelException {
    return start(scope, name, new Tick(period.toNanos(), task));
  }

  private static Poller start(Scope scope, String name, Tick tick) throws KernelException {
    try (var building = new Scope()) {
      var poller = new Poller(building, name, tick);
      poller.thread.start();
      building.own(poller);
      RUNNING.add(poller);
      building.moveTo(scope);
      return poller;
    }
  }

  /** A watch on one descriptor; closing it ends the watch. */
  public final class Watch implements Owned {
    private final long token = tokens.incrementAndGet();
    private final Fd fd;
    private volatile int interest;
    private final Runnable handler;

    private Watch(Fd fd, int interest, Runnable handler) {
      this.fd = fd;
      this.interest = interest;
      this.handler = handler;
    }

    /** Watches for other events than before. */
    public void rearm(Set<Interest> changed) throws KernelException {
      interest = changed.stream().mapToInt(each -> each.bit).reduce(0, (a, b) -> a | b);
      rearm();
    }

    /** Waits once more: a watch falls silent after each call of its handler. */
    public void rearm() throws KernelException {
      if (!isOpen()) {
        return;
      }
      try {
        control(EPOLL_CTL_MOD, fd, interest | EPOLLONESHOT, token);
      } catch (KernelException e) {
        // RACE: closed meanwhile, it has nothing to wait for.
        if (isOpen()) {
          throw e;
        }
      }
    }

    private boolean isOpen() {
      return watches.containsKey(token);
    }

    @Override
    public void close() throws KernelException {
      if (watches.remove(token) == null || closed) {
        return;
      }
      try {
        control(EPOLL_CTL_DEL, fd, 0, token);
      } catch (KernelException e) {
        // A descriptor closed before its watch has left the epoll set by itself.
        if (!e.is(Errno.EBADF)) {
          throw e;
        }
      }
    }
  }

  /** Runs {@code handler} on the poller's thread when {@code fd} is ready, once until re-armed. */
  public Watch watch(Scope scope, Fd fd, Interest interest, Runnable handler)
      throws KernelException {
    var watch = new Watch(fd, interest.bit, handler);
    watches.put(watch.token, watch);
    try {
      control(EPOLL_CTL_ADD, fd, interest.bit | EPOLLONESHOT, watch.token);
    } catch (KernelException e) {
      watches.remove(watch.token);
      throw e;
    }
    return scope.own(watch);
  }

  /** Runs {@code task} on the poller's thread soon; not at all if it is closed before. */
  public void execute(Runnable task) throws KernelException {
    tasks.add(task);
    wake();
  }

  /**
   * Waits until everything that was ready when this was called has been handled. Call it before a
   * clock decides that something has not happened: the message may be unread.
   *
   * @return false when the poller did not get there in time, or is closed
   */
  public boolean catchUp(Deadline deadline) throws InterruptedException {
    if (Thread.currentThread().equals(thread)) {
      throw new IllegalStateException("a handler must not wait for the poller");
    }
    var request = new CatchUp();
    arrears.add(request);
    try {
      if (closed || !thread.isAlive()) {
        return false;
      }
      wake();
      return deadline.await(request.done).orElse(false);
    } catch (KernelException e) {
      // RACE: closed meanwhile.
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } finally {
      arrears.remove(request);
    }
  }

  /** After a batch of so many: an empty one means that all that was ready is handled. */
  private void settle(long batch) {
    arrears.removeIf(
        request -> {
          // ORDER: the first batch may have been fetched before the request was there.
          boolean isAll = batch == 0 && request.turns > 0;
          boolean isDone = isAll || request.turns++ >= CATCH_UP_TURNS;
          return isDone && request.done.complete(true);
        });
  }

  private void wake() throws KernelException {
    wake.write(new byte[] {1, 0, 0, 0, 0, 0, 0, 0}, 0, 8);
  }

  private void runTasks() throws KernelException {
    // ORDER: emptied first, so that a task added from now on wakes us again.
    wake.read(new byte[8], 0, 8);
    for (Runnable task = tasks.poll(); task != null && !closed; task = tasks.poll()) {
      run(task, "task");
    }
  }

  private void control(int operation, Fd fd, int events, long token) throws KernelException {
    try (var frame = new Frame();
        var set = epoll.new Use();
        var use = fd.new Use()) {
      MemorySegment event = frame.allocate(EVENT_SIZE);
      event.set(JAVA_INT, 0, events);
      event.set(JAVA_LONG_UNALIGNED, EVENT_DATA, token);
      long result = frame.call(EPOLL_CTL, set.number(), operation, use.number(), event.address());
      Frame.check(result, "wait for " + fd);
    }
  }

  private void loop() {
    ProcessClock.beginBeating();
    try (var frame = new Frame();
        var set = epoll.new Use()) {
      MemorySegment events = frame.allocate((long) MAX_EVENTS * EVENT_SIZE);
      int full = 0;
      long due = System.nanoTime() + tick.periodNanos;
      while (!closed) {
        long idle = Math.min(due - System.nanoTime(), ProcessClock.BEAT.toNanos());
        int timeout = arrears.isEmpty() ? milliseconds(idle) : 0;
        isWaiting = true;
        long n =
            frame.callThroughInterrupts(
                EPOLL_PWAIT, set.number(), events.address(), MAX_EVENTS, timeout, 0);
        isWaiting = false;
        turn();
        Frame.check(n, "wait for events");
        for (int i = 0; i < n; i++) {
          long token = events.get(JAVA_LONG_UNALIGNED, (long) i * EVENT_SIZE + EVENT_DATA);
          if (token == WAKE) {
            runTasks();
          } else {
            dispatch(token);
          }
        }
        ProcessClock.beat();
        settle(n);
        // ORDER: ready descriptors are handled before timers, but cannot delay them for ever.
        boolean isBehind = n == MAX_EVENTS && ++full <= CATCH_UP_TURNS;
        if (System.nanoTime() - due >= 0 && !isBehind) {
          full = 0;
          run(tick.task, "tick");
          due = System.nanoTime() + tick.periodNanos;
        }
      }
    } catch (Throwable e) {
      isWaiting = false;
      LOG.log(Level.ERROR, "event=poller_died", e);
    } finally {
      ProcessClock.endBeating();
      arrears.forEach(request -> request.done.complete(false));
    }
  }

  /** Rounded up, so that the timer is due when the wait ends. */
  private static int milliseconds(long nanos) {
    return Math.clamp(nanos / 1_000_000 + 1, 0, Integer.MAX_VALUE);
  }

  private void dispatch(long token) {
    Watch watch = watches.get(token);
    if (watch != null) {
      run(watch.handler, watch.fd.toString());
    }
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // by its own thread only
  private void turn() {
    turns++;
  }

  private void run(Runnable handler, String subject) {
    turn();
    try {
      handler.run();
    } catch (Throwable e) {
      LOG.log(Level.ERROR, "event=handler_failed subject=" + subject, e);
    }
  }

  static Set<Poller> running() {
    return RUNNING;
  }

  Thread thread() {
    return thread;
  }

  long turns() {
    return turns;
  }

  boolean isWaiting() {
    return isWaiting;
  }

  @Override
  public void close() throws KernelException {
    if (closed) {
      return;
    }
    closed = true;
    wake();
    boolean interrupted = false;
    while (thread.isAlive() && !Thread.currentThread().equals(thread)) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    // ORDER: a thread that does not end is seen until it does.
    RUNNING.remove(this);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
