package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Informs the execs of a box when the OOM killer has killed one of its processes.
 *
 * <p>In version 2 the kernel itself kills the whole exec (memory.oom.group); this class does so in
 * version 1. Thread-safe.
 */
final class OomWatch {
  private static final Logger LOG = System.getLogger(OomWatch.class.getName());
  private static final Duration STRIKES_WITHIN = Duration.ofSeconds(10);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(2);

  private final BoxId id;
  private final Enclosure enclosure;
  private final Set<LongConsumer> listeners = ConcurrentHashMap.newKeySet();
  private volatile boolean isReleased;

  OomWatch(BoxId id, Enclosure enclosure) {
    this.id = id;
    this.enclosure = enclosure;
  }

  void open(Scope scope, Poller poller) throws KernelException {
    var event = enclosure.accounting().oomEvents(scope);
    if (event.isPresent()) {
      scope.own(() -> isReleased = true);
      var handler = new Handler(event.get());
      handler.watch = poller.watch(scope, event.get(), Poller.Interest.READ, handler);
    }
  }

  void add(LongConsumer listener) {
    listeners.add(listener);
  }

  void remove(LongConsumer listener) {
    listeners.remove(listener);
  }

  private final class Handler implements Runnable {
    private final Fd event;
    private Poller.@Nullable Watch watch;
    private long seen;

    Handler(Fd event) {
      this.event = event;
    }

    @Override
    public void run() {
      Thread.ofVirtual().name("ebb-oom-" + id).start(this::look);
    }

    /** KERNEL: the event comes before the kill, so the count rises a little later. */
    private void look() {
      try {
        event.read(new byte[8], 0, 8);
        Deadline.in(STRIKES_WITHIN)
            .until(LOOK_AGAIN, () -> isReleased || enclosure.accounting().oomKills() > seen);
        long kills = enclosure.accounting().oomKills();
        if (kills > seen) {
          seen = kills;
          for (LongConsumer listener : listeners) {
            listener.accept(kills);
          }
        }
        if (watch != null) {
          watch.rearm();
        }
      } catch (KernelException e) {
        // The box is being released, and with it its cgroup and this watch.
        if (!e.is(Errno.ENOENT) && !e.is(Errno.ENODEV) && !e.is(Errno.EBADF)) {
          LOG.log(Level.WARNING, "event=oom_watch_failed box=" + id, e);
        }
      }
    }
  }
}
