package dev.ebb.code;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.exec.Segment;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.model.BoxText;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExitCause;
import dev.ebb.model.OutputLoss;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One piece of code that a context runs. Thread-safe. The caller that submitted it closes it; until
 * then its output and displays are kept.
 */
public final class Cell implements AutoCloseable {
  /** The most that one cell may show. */
  private static final long SHOWN_MOST = 16 << 20;

  /** The memory of each form beside its bytes. */
  private static final long OVERHEAD = 512;

  /** A few small frames always have room, whatever other cells show. */
  private static final int SMALL = 16;

  private static final int SMALL_MOST = 64;

  private static final Pattern END = Pattern.compile("ok|error|interrupted|[0-9]{1,3}");

  /** How a cell ended. */
  public enum Outcome {
    OK,
    /** It threw. */
    ERROR,
    /** Its last command failed. */
    FAILED,
    INTERRUPTED,
    TIMED_OUT,
    /** The interpreter ended in the middle. */
    DIED,
    /** The interpreter, or code in it, broke the protocol; it was ended. */
    BROKEN,
    /** It succeeded, but some of its output could not be stored. */
    OUTPUT_LOST,
    /** It never ran. */
    CANCELLED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** A displayed value, in one or more forms by their types. */
  public record Shown(boolean isResult, Map<String, byte[]> forms) {}

  public record Thrown(String name, String value, String traceback) {}

  /**
   * The end of a cell.
   *
   * @param cause how the interpreter ended, if it did
   * @param detail a description of that
   */
  public record Result(
      Outcome outcome,
      int status,
      Optional<ExitCause> cause,
      Optional<String> detail,
      Duration took) {}

  private final ShowRoom room;
  private final int number;
  private final CellOrder order;
  private final String nonce;
  private final CompletableFuture<Result> result = new CompletableFuture<>();
  private final OrderedLock lock = new OrderedLock(LockOrder.CELL);

  @GuardedBy("lock")
  private final List<Shown> shown = new ArrayList<>();

  @GuardedBy("lock")
  private boolean closed;

  @GuardedBy("lock")
  private long taken;

  private volatile @Nullable Segment segment;
  private volatile @Nullable Thrown thrown;
  private volatile boolean cut;

  // --- for the context and its interpreter ---

  /** Forms that were not shown yet; used by the poller's thread only. */
  private Map<String, byte[]> forms = new LinkedHashMap<>();

  /** How many small frames it sent; used by the poller's thread only. */
  private int small;

  private volatile long begunAt;
  volatile boolean begun;
  volatile @Nullable String done;
  volatile boolean cancelled;

  /** How often an interrupt was requested. */
  final AtomicInteger interrupts = new AtomicInteger();

  Cell(int number, CellOrder order, String nonce, ShowRoom room) {
    this.room = room;
    this.number = number;
    this.order = order;
    this.nonce = nonce;
  }

  public int number() {
    return number;
  }

  CellOrder order() {
    return order;
  }

  String nonce() {
    return nonce;
  }

  /** RACE: node may report this twice, when an interrupt hits it in between. */
  void begin() {
    if (!begun) {
      begunAt = ProcessClock.nanos();
      begun = true;
    }
  }

  /** Returns what is left of this duration since the cell began. */
  Duration untilAfterBegin(Duration howLong) {
    return howLong.minus(ProcessClock.since(begunAt));
  }

  /** Returns false for a string that is no outcome. */
  boolean finish(String word) {
    done = word;
    return END.matcher(word).matches();
  }

  void run(Segment output) {
    segment = output;
  }

  void end(Result how) {
    result.complete(how);
    Segment output = segment;
    if (output != null) {
      output.wake();
    }
  }

  // --- displays ---

  /** Reserves memory for so many bytes; fails once the cell is closed. */
  boolean reserve(int size) {
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      if (size <= SMALL && small < SMALL_MOST) {
        small++;
        return true;
      }
      long more = size + OVERHEAD;
      if (taken + more <= SHOWN_MOST && room.take(more)) {
        taken += more;
        return true;
      }
      cut = true;
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** SAFETY: checks the characters of a type, for it becomes part of our documents. */
  boolean addForm(byte[] body) {
    int end = indexOf(body, 0);
    String type = end < 0 ? "" : BoxText.decode(body, 0, end);
    if (!type.matches("[a-z]+/[a-z0-9.+-]{1,60}")) {
      return false;
    }
    forms.put(type, java.util.Arrays.copyOfRange(body, end + 1, body.length));
    return true;
  }

  void show(boolean isResult) {
    lock.lock();
    try {
      if (!forms.isEmpty()) {
        shown.add(new Shown(isResult, forms));
        forms = new LinkedHashMap<>();
      }
    } finally {
      lock.unlock();
    }
  }

  boolean addError(byte[] body) {
    int first = indexOf(body, 0);
    int second = first < 0 ? -1 : indexOf(body, first + 1);
    if (second < 0) {
      return false;
    }
    thrown =
        new Thrown(
            text(body, 0, first),
            text(body, first + 1, second),
            text(body, second + 1, body.length));
    return true;
  }

  private static int indexOf(byte[] body, int from) {
    for (int i = from; i < body.length; i++) {
      if (body[i] == 0) {
        return i;
      }
    }
    return -1;
  }

  private static String text(byte[] body, int from, int to) {
    return new String(body, from, to - from, java.nio.charset.StandardCharsets.UTF_8);
  }

  void cut() {
    cut = true;
  }

  // --- for the caller ---

  /** Returns its output; empty until its turn comes. */
  public Optional<Segment> segment() {
    return Optional.ofNullable(segment);
  }

  /** Returns what it has shown so far, without the first {@code from}. */
  public List<Shown> shown(int from) {
    lock.lock();
    try {
      return List.copyOf(shown.subList(from, shown.size()));
    } finally {
      lock.unlock();
    }
  }

  private int shownCount() {
    lock.lock();
    try {
      return shown.size();
    } finally {
      lock.unlock();
    }
  }

  public Optional<Thrown> thrown() {
    return Optional.ofNullable(thrown);
  }

  /** Returns whether it wrote or showed more than is kept. */
  public boolean isCut() {
    Segment output = segment;
    return cut || (output != null && output.isTruncated());
  }

  /** Returns how much of its output could not be stored. */
  public OutputLoss loss() {
    Segment output = segment;
    return output == null ? OutputLoss.NONE : output.loss();
  }

  public Optional<Result> result() {
    return Optional.ofNullable(result.getNow(null));
  }

  /** Returns empty if it has not ended in time. */
  public Optional<Result> await(Duration patience) throws InterruptedException {
    try {
      return Deadline.in(patience).await(result);
    } catch (ExecutionException e) {
      throw new IllegalStateException("cell " + number + " has no end", e.getCause());
    }
  }

  /** Waits until there is more than was read, until it has ended, or until time is up. */
  public void awaitNews(long stdoutRead, long stderrRead, int shownRead, Duration patience)
      throws InterruptedException {
    Segment output = segment;
    if (output == null) {
      var _ = await(patience);
      return;
    }
    var _ =
        output.await(
            () ->
                output.hasMore(stdoutRead, stderrRead)
                    || shownCount() > shownRead
                    || result.isDone(),
            Deadline.in(patience));
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      room.giveBack(taken);
      taken = 0;
      shown.clear();
    } finally {
      lock.unlock();
    }
    Segment output = segment;
    if (output != null) {
      output.discard();
    }
  }
}
