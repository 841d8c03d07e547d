package dev.ebb.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.Condition;
import java.util.function.LongFunction;

/**
 * A stream that never makes its caller wait: a thread of its own writes to the real one, which may
 * be a pipe that no process reads. The thread exists only while there is something to write:
 * threads are PIDs; it waits a moment for more, so that a busy daemon does not start one for each
 * line. What does not fit into the queue is dropped, counted, and reported when there is room
 * again. Thread-safe.
 */
final class QueuedStream extends OutputStream {
  private static final int QUEUED_MOST = 1 << 20;
  private static final Duration LAST_PATIENCE = Duration.ofSeconds(1);

  /** How long the writer waits for more. */
  private static final Duration LINGER = Duration.ofMillis(200);

  /** The streams in front of stdout and stderr. */
  private static final Queue<QueuedStream> INSTALLED = new ConcurrentLinkedQueue<>();

  private final String name;
  private final OutputStream target;
  private final int most;
  private final LongFunction<String> dropNotice;
  private final OrderedLock lock = new OrderedLock(LockOrder.LOG_QUEUE);
  private final Condition changed = lock.newCondition();

  @GuardedBy("lock")
  private final Deque<byte[]> queue = new ArrayDeque<>();

  /** Bytes in the queue, and bytes that are being written. */
  @GuardedBy("lock")
  private int queued;

  @GuardedBy("lock")
  private long dropped;

  /** Whether the other end is closed permanently. */
  @GuardedBy("lock")
  private boolean isBroken;

  /** Whether a thread takes bytes from the queue. */
  @GuardedBy("lock")
  private boolean isWriting;

  /**
   * Makes a stream in front of another.
   *
   * @param dropNotice makes the line about a number of writes that were dropped
   */
  QueuedStream(String thread, OutputStream target, int most, LongFunction<String> dropNotice) {
    name = thread;
    this.target = target;
    this.most = most;
    this.dropNotice = dropNotice;
  }

  /** Installs a stream in front of stdout and of stderr; called before anything is logged. */
  static void install(LongFunction<String> dropNotice) {
    System.setOut(print("ebb-stdout", FileDescriptor.out, dropNotice));
    System.setErr(print("ebb-log", FileDescriptor.err, dropNotice));
  }

  private static PrintStream print(
      String thread, FileDescriptor to, LongFunction<String> dropNotice) {
    var stream = new QueuedStream(thread, new FileOutputStream(to), QUEUED_MOST, dropNotice);
    INSTALLED.add(stream);
    return new PrintStream(stream, true, StandardCharsets.UTF_8);
  }

  /** Waits a moment for queued bytes; called before the process ends. */
  static void flushAll() {
    var deadline = Deadline.in(LAST_PATIENCE);
    INSTALLED.forEach(stream -> stream.awaitWritten(deadline));
  }

  @Override
  public void write(int single) {
    write(new byte[] {(byte) single}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    byte[] copy = new byte[length];
    System.arraycopy(bytes, offset, copy, 0, length);
    lock.lock();
    try {
      if (isBroken) {
        return;
      }
      if (queued + length > most) {
        dropped++;
        return;
      }
      add(copy);
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void add(byte[] bytes) {
    queue.add(bytes);
    queued += bytes.length;
    changed.signalAll();
    startWriting();
  }

  /**
   * Starts the writer. If the host grants no thread, the next write or the end of the process tries
   * again.
   */
  @GuardedBy("lock")
  private void startWriting() {
    if (isWriting || queue.isEmpty()) {
      return;
    }
    isWriting = true;
    try {
      Thread.ofPlatform().name(name).daemon().start(this::writeOn);
    } catch (OutOfMemoryError e) {
      // KERNEL: clone(2) failed with EAGAIN; the heap is not at fault.
      isWriting = false;
    }
  }

  private void writeOn() {
    try {
      for (var next = next(); next.isPresent(); next = next()) {
        target.write(next.get());
        written(next.get().length);
      }
    } catch (IOException e) {
      // Such as EPIPE: there is nothing left to report it to.
      giveUp();
    }
  }

  /** Returns empty if the queue stays empty for a moment; the thread ends then. */
  private Optional<byte[]> next() {
    lock.lock();
    try {
      awaitMore();
      isWriting = !queue.isEmpty();
      return Optional.ofNullable(queue.poll());
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void awaitMore() {
    long nanos = LINGER.toNanos();
    try {
      while (queue.isEmpty() && nanos > 0) {
        nanos = changed.awaitNanos(nanos);
      }
    } catch (InterruptedException e) {
      // Nothing interrupts this thread; if something does, it ends.
      Thread.currentThread().interrupt();
    }
  }

  private void written(int length) {
    lock.lock();
    try {
      queued -= length;
      if (dropped > 0 && queue.isEmpty()) {
        String news = dropNotice.apply(dropped);
        dropped = 0;
        add(news.getBytes(StandardCharsets.UTF_8));
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void giveUp() {
    lock.lock();
    try {
      isBroken = true;
      queue.clear();
      queued = 0;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns false if bytes are left at the deadline. */
  boolean awaitWritten(Deadline deadline) {
    boolean isInterrupted = false;
    lock.lock();
    try {
      startWriting();
      while (queued > 0 && !deadline.isOver()) {
        try {
          var _ = changed.awaitNanos(deadline.remainingNanos());
        } catch (InterruptedException e) {
          isInterrupted = true;
        }
      }
      return queued == 0;
    } finally {
      lock.unlock();
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
