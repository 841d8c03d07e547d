package dev.ebb.code;

import dev.ebb.exec.Exec;
import dev.ebb.exec.RunnerSocket;
import dev.ebb.exec.Segment;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The conversation with the interpreter of one context: takes what its runner says, for the cell
 * that runs, and ends the interpreter when it hangs up or breaks the protocol. Thread-safe.
 */
final class RunnerSession {
  private static final Duration SEND_PATIENCE = Duration.ofSeconds(10);

  /** How long a killed process tree may take to be gone. */
  private static final Duration END_PATIENCE = Duration.ofSeconds(30);

  /** An interpreter that hangs up is about to end, or cannot speak any more. */
  private static final Duration LAST_WORD = Duration.ofSeconds(2);

  /** The nonce of a word that is about no cell. */
  static final String NO_NONCE = "0".repeat(16);

  private final Exec exec;
  private final RunnerSocket socket;
  private final Frames frames = new Frames(new Heard());

  private volatile @Nullable Cell current;
  private volatile boolean ready;
  private volatile boolean hungUp;

  /** What was said that no runner says. */
  private volatile @Nullable String broken;

  private volatile @Nullable ExitCause cause;

  RunnerSession(Exec exec) {
    this.exec = exec;
    socket = exec.runnerSocket().orElseThrow();
  }

  /** Listens to the interpreter and sends it its runner. */
  void begin(Runner runner) {
    try {
      socket.listen(new Words());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
    // ORDER: it says that it is ready before it is sent anything else.
    socket.send(runner.boot(), Deadline.in(SEND_PATIENCE));
  }

  Exec exec() {
    return exec;
  }

  /** The cell that was sent last and is not over; null: none. */
  @Nullable Cell current() {
    return current;
  }

  boolean isReady() {
    return ready;
  }

  boolean isOver() {
    return broken != null || hungUp || exec.isOver();
  }

  boolean isBroken() {
    return broken != null;
  }

  /** Why the interpreter was ended, if for what it said. */
  Optional<String> broken() {
    return Optional.ofNullable(broken);
  }

  /** How the interpreter ended, if it is known. */
  Optional<ExitCause> cause() {
    return Optional.ofNullable(cause);
  }

  /** Sends a cell; from now on the interpreter may speak about it. */
  void send(Cell cell) {
    current = cell;
    if (!isOver() && !socket.send(cell.order().words(cell.nonce()), Deadline.in(SEND_PATIENCE))) {
      hungUp = true;
    }
  }

  /** The cell that ran is over. */
  void release() {
    current = null;
  }

  /**
   * Waits for {@code condition} by what {@code segment} hears; false when the deadline came first.
   * ORDER: what the interpreter has said by then is heard before that decides.
   */
  boolean await(Segment segment, BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    if (segment.await(condition, deadline)) {
      return true;
    }
    var _ = exec.hearOut();
    return condition.getAsBoolean();
  }

  void wake() {
    exec.segment().wake();
  }

  /** How the interpreter ended; it is killed if it only hung up. */
  Optional<ExitCause> end() throws InterruptedException {
    Optional<ExecResult> last = exec.await(LAST_WORD);
    if (last.isEmpty()) {
      exec.kill(Duration.ZERO);
      last = exec.await(END_PATIENCE);
    }
    // Its last words may be on their way.
    var _ = await(exec.segment(), () -> hungUp, Deadline.in(LAST_WORD));
    last.ifPresent(result -> cause = result.cause());
    return cause();
  }

  /** Ends the interpreter, but not by the poller, which may have heard it: a kill may wait. */
  void breakUp(String wrong) {
    broken = wrong;
    wake();
    Thread.ofVirtual().name("ebb-broken-context").start(() -> exec.kill(Duration.ZERO));
  }

  // --- what it says ---

  private final class Words implements RunnerSocket.Listener {
    @Override
    public boolean heard(byte[] bytes, int length) {
      String wrong = frames.take(bytes, length);
      if (wrong != null) {
        breakUp(wrong);
      }
      return wrong == null;
    }

    @Override
    public void ended() {
      hungUp = true;
      wake();
      Thread.ofVirtual().name("ebb-context-end").start(RunnerSession.this::seeOff);
    }
  }

  /** An interpreter that hung up ends; if not by itself, by us. */
  private void seeOff() {
    try {
      var _ = end();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Heard implements Frames.Listener {
    @Override
    public @Nullable String opens(String nonce, Frames.Kind kind) {
      if (kind == Frames.Kind.READY) {
        return ready || !nonce.equals(NO_NONCE) ? "ready when it was so already" : null;
      }
      Cell cell = current;
      boolean isRight = cell != null && cell.done == null && cell.nonce().equals(nonce);
      return isRight ? null : "a word about no cell that runs";
    }

    @Override
    public boolean wants(Frames.Kind kind, int size) {
      Cell cell = current;
      return cell != null && (size == 0 || kind == Frames.Kind.DONE || cell.reserve(size));
    }

    @Override
    public @Nullable String heard(Frames.Kind kind, byte @Nullable [] body) {
      boolean isRight = take(kind, body);
      wake();
      return isRight ? null : "a strange " + kind.word();
    }
  }

  private boolean take(Frames.Kind kind, byte @Nullable [] body) {
    Cell cell = current;
    if (kind == Frames.Kind.READY) {
      ready = true;
      return true;
    }
    // RACE: it may have been given up in the middle of the frame.
    return cell != null && take(cell, kind, body);
  }

  private static boolean take(Cell cell, Frames.Kind kind, byte @Nullable [] body) {
    return switch (kind) {
      case BEGUN -> {
        cell.begin();
        yield true;
      }
      case FORM -> body == null || cell.addForm(body);
      case DISPLAY -> {
        cell.show(false);
        yield true;
      }
      case RESULT -> {
        cell.show(true);
        yield true;
      }
      case CUT -> {
        cell.cut();
        yield true;
      }
      case ERROR -> body == null || cell.addError(body);
      case DONE -> body != null && cell.finish(new String(body, StandardCharsets.US_ASCII));
      case READY -> false;
    };
  }
}
